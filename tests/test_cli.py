"""The command line, run as a program: data, exit codes, messages, files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.cli.console import EXIT_CODES, Exit, duration, exit_code, plain
from nearfar.cli.main import build_parser, commands

PROGRAM = [sys.executable, "-m", "nearfar.cli.main"]


def run(*args: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the program; stdout and stderr as text."""
    return subprocess.run(
        [*PROGRAM, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )


def succeed(*args: object) -> str:
    """Run the program, expect success, return stdout."""
    done = run(*args)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def fail(code: Exit, *args: object) -> str:
    """Run the program, expect one sentence on stderr and nothing on stdout; return the sentence."""
    done = run(*args)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("nearfar: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    """Six vertices in DIMACS text; vertex 5 is unreachable from 0."""
    file = tmp_path / "g.gr"
    file.write_text("p sp 6 6\na 1 2 4\na 1 3 1\na 3 2 2\na 2 4 5\na 4 5 0\na 6 1 9\n")
    return file


@pytest.fixture
def named_file(tmp_path: Path) -> Path:
    """An edge list whose vertices have names."""
    file = tmp_path / "towns.csv"
    file.write_text("source,target,weight\nBern,Basel,1.5\nBasel,Chur,2.25\nBern,Chur,9.0\n")
    return file


@pytest.fixture
def cycle_file(tmp_path: Path) -> Path:
    """Vertices 1 and 2 form a cycle of weight -1."""
    file = tmp_path / "cycle.gr"
    file.write_text("p sp 4 4\na 1 2 3\na 2 3 2\na 3 2 -3\na 3 4 1\n")
    return file


# ---- every command ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(commands()))
def test_help_has_examples_and_exit_codes(name: str) -> None:
    text = succeed(name, "--help")
    assert "examples:" in text
    assert f"nearfar {name}" in text
    for meaning in EXIT_CODES.values():
        assert meaning in text
    for flag in ("--json", "--quiet", "--debug"):
        assert flag in text


@pytest.mark.parametrize("name", list(commands()))
def test_examples_parse(name: str) -> None:
    """The examples in the help are command lines that the program accepts."""
    parser = build_parser()
    for line in commands()[name].EXAMPLES.strip().splitlines():
        words = line.split()
        assert words[:2] == ["nearfar", name]
        if "--help" not in words:
            assert callable(parser.parse_args(words[1:]).run)


def test_exit_codes_are_distinct_and_documented() -> None:
    assert set(EXIT_CODES) == set(Exit)
    assert len({code.value for code in Exit}) == len(list(Exit))


def test_every_error_has_an_exit_code() -> None:
    from nearfar import errors

    arguments: dict[str, list[Any]] = {
        "NegativeCycleError": [[0, 1], -1],
        "NegativeWeightError": [0, 1],
        "OutOfMemoryError": [2, 1],
    }
    for name in errors.__all__:
        kind = getattr(errors, name)
        code = exit_code(kind(*arguments.get(name, ["text"])))
        if name not in ("NearfarError", "SolverError"):
            assert code is not Exit.UNEXPECTED, name
    assert exit_code(ZeroDivisionError()) is Exit.UNEXPECTED
    assert exit_code(MemoryError()) is Exit.OUT_OF_MEMORY


def test_no_command_shows_help_and_is_a_usage_error() -> None:
    done = run()
    assert done.returncode == Exit.USAGE
    assert "usage: nearfar" in done.stderr
    assert done.stdout == ""


def test_unknown_command_is_a_usage_error() -> None:
    done = run("dijkstra")
    assert done.returncode == Exit.USAGE
    assert "invalid choice" in done.stderr


def test_version() -> None:
    assert succeed("--version").strip() == f"nearfar {nearfar.__version__}"


# ---- sssp ---------------------------------------------------------------------------------------


def test_sssp_prints_a_summary(graph_file: Path) -> None:
    text = succeed("sssp", graph_file, 0, "--prove")
    assert "6 vertices, 6 edges" in text
    assert "5 vertices" in text  # reached
    assert "farthest  3 at 8" in text
    assert "passed" in text


def test_sssp_json(graph_file: Path) -> None:
    data = json.loads(succeed("sssp", graph_file, 0, "--json", "--prove", "--stats", "full"))
    assert data["reached"] == 5
    assert data["farthest_distance"] == 8
    assert data["proved"] is True
    assert data["engine"].endswith("@cpu")
    assert data["stats"]["seconds"] > 0


def test_sssp_table_on_stdout_is_only_data(graph_file: Path) -> None:
    done = run("sssp", graph_file, 0, "--predecessors", "-o", "-")
    assert done.returncode == 0
    assert done.stdout == ("vertex,distance,predecessor\n0,0,\n1,3,2\n2,1,0\n3,8,1\n4,8,3\n5,,\n")
    assert "reached" in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "npz", "json", "parquet"])
@pytest.mark.parametrize("more", [[], ["--predecessors"], ["--predecessors", "--limit", "3"]])
def test_tables_are_written_whole_and_prove(
    graph_file: Path, tmp_path: Path, suffix: str, more: list[str]
) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    table = tmp_path / f"d.{suffix}"
    succeed("sssp", graph_file, 0, "-o", table, *more)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["g.gr", table.name])
    # CSV does not carry the limit.
    limit = ["--limit", "3"] if "--limit" in more and "csv" in suffix else []
    data = json.loads(succeed("verify", graph_file, table, "--json", *limit))
    assert data["proved"] is True
    assert data["source"] == 0
    assert data["reached"] == (3 if "--limit" in more else 5)
    assert data["predecessors"] is ("--predecessors" in more)


def test_names_come_back(named_file: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    succeed("sssp", named_file, "Bern", "--predecessors", "-o", table)
    assert table.read_text().splitlines() == [
        "vertex,distance,predecessor",
        "Bern,0.0,",
        "Basel,1.5,Bern",
        "Chur,3.75,Basel",
    ]
    assert "passed" in succeed("verify", named_file, table)
    message = fail(Exit.BAD_INPUT, "sssp", named_file, "Bonn")
    assert "Bonn" in message
    assert "Bern" in message


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_numbers_read_back_exactly(tmp_path: Path, dtype: str) -> None:
    graph = tmp_path / "g.nfg"
    low, high = (0.001, 0.999) if dtype.startswith("f") else (1, 2**40)
    succeed(
        "generate", "uniform_random", "--vertices", 400, "--degree", 3, "--weight-dtype", dtype,
        "--low", low, "--high", high, "-o", graph,
    )  # fmt: skip
    for suffix in ("csv", "json", "npz"):
        table = tmp_path / f"d.{suffix}"
        succeed("sssp", graph, 0, "-o", table)
        succeed("verify", graph, table)


def test_targets_and_limit(graph_file: Path) -> None:
    data = json.loads(succeed("sssp", graph_file, 0, "--targets", 1, 5, "--json"))
    assert data["targets"] == {"1": 3, "5": None}
    data = json.loads(succeed("sssp", graph_file, 0, "--limit", 3, "--json", "--prove"))
    assert data["reached"] == 3
    assert data["limit"] == 3


def test_explain_ranks_methods(graph_file: Path) -> None:
    data = json.loads(succeed("sssp", graph_file, 0, "--explain", "--json"))
    seconds = [item["seconds"] for item in data["ranking"]]
    assert seconds == sorted(seconds)
    assert all(item["reason"] for item in data["ranking"] + data["others"])
    chosen = json.loads(succeed("sssp", graph_file, 0, "--json"))["engine"]
    assert data["ranking"][0]["id"] == chosen


def test_every_cpu_method_answers_alike(graph_file: Path) -> None:
    from nearfar.registry import Request, variants

    graph = nearfar.read(graph_file)
    for v in variants(device="cpu", problem="sssp"):
        if v.can_run(graph, Request()) is True:
            text = nearfar.sssp(graph, 0, method=v.id).distances[:5].tolist()
            assert text == [0, 3, 1, 8, 8], v.id
    assert "dijkstra_array@cpu" in succeed("sssp", graph_file, 0, "--method", "dijkstra_array@cpu")


# ---- path, info, convert, generate, methods, doctor ---------------------------------------------


def test_path(graph_file: Path) -> None:
    done = run("path", graph_file, 0, 3, "--prove")
    assert done.returncode == 0
    assert done.stdout == "0\t0\n2\t1\n1\t3\n3\t8\n"
    assert "length 8 over 3 edges" in done.stderr
    assert "proved" in done.stderr
    assert run("path", graph_file, 0, 3, "--quiet").stderr == ""
    data = json.loads(succeed("path", graph_file, 0, 3, "--json"))
    assert data["vertices"] == [0, 2, 1, 3]
    assert data["length"] == 8


def test_info(graph_file: Path) -> None:
    text = succeed("info", graph_file, "--source", 0)
    for label in ("vertices", "out-degree", "weights", "reach from 0", "diameter", "method"):
        assert label in text
    data = json.loads(succeed("info", graph_file, "--source", 0, "--json"))
    assert data["n_vertices"] == 6
    assert data["reach"]["reached"] == 5
    assert data["auto"]["method"].endswith("@cpu")


def test_convert_round_trip(graph_file: Path, tmp_path: Path) -> None:
    native, back = tmp_path / "g.nfg", tmp_path / "back.gr.gz"
    succeed("convert", graph_file, native)
    data = json.loads(succeed("convert", native, back, "--json"))
    assert (data["vertices"], data["edges"]) == (6, 6)
    first, second = nearfar.read(graph_file), nearfar.read(back)
    for name in ("indptr", "indices", "weights"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_convert_lists_formats() -> None:
    from nearfar.formats import formats

    listed = {item["name"]: item for item in json.loads(succeed("convert", "--list", "--json"))}
    assert list(listed) == list(formats())
    assert ".gr" in listed["dimacs"]["suffixes"]


def test_generate_each_family_has_help() -> None:
    from nearfar.generators import GENERATORS

    parser = build_parser("generate")
    for name, family in GENERATORS.items():
        args = parser.parse_args(["generate", name])
        given = {p: getattr(args, f"parameter_{p}") for p in args.parameters}
        assert given == {p.name: p.default for p in family.parameters}


def test_generate_same_seed_same_file(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.nfg", "b.nfg", "c.nfg")]
    for file, seed in zip(files, (7, 7, 8), strict=True):
        succeed("generate", "grid", "--rows", 9, "--columns", 8, "--seed", seed, "-o", file)
    digests = [nearfar.read(file).digest() for file in files]
    assert digests[0] == digests[1] != digests[2]


def test_generate_json_after_the_family() -> None:
    data = json.loads(succeed("generate", "path", "--vertices", 5, "--json"))
    assert data["n_vertices"] == 5
    assert data["parameters"]["vertices"] == 5


def test_methods_lists_the_registry() -> None:
    from nearfar.registry import variants

    data = json.loads(succeed("methods", "--json"))
    assert [item["id"] for item in data] == [v.id for v in variants(unsafe=True)]
    wanted = {"id", "family", "device", "paper", "section", "weights", "available", "reason"}
    for item in data:
        assert wanted <= set(item)
        assert item["available"] is (item["reason"] == "")
    text = succeed("methods", "--device", "cpu", "--available")
    assert "dijkstra_binary_heap@cpu" in text
    assert "@cuda" not in text


def test_methods_of_an_unknown_family() -> None:
    assert "dijkstra" in fail(Exit.USAGE, "methods", "--family", "dikstra")


def test_doctor() -> None:
    data = json.loads(succeed("doctor", "--json"))
    assert data["healthy"] is True
    assert data["self_test"]["cpu"]["passed"] is True
    assert data["versions"]["numpy"] == np.__version__
    assert data["machine"]["cores"] >= 1
    assert data["cuda"]["available"] is (data["cuda"]["reason"] == "")
    assert "self-test" in succeed("doctor")


# ---- errors -------------------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    assert "none.gr" in fail(Exit.BAD_INPUT, "sssp", tmp_path / "none.gr", 0)


def test_folder_as_graph(tmp_path: Path) -> None:
    assert str(tmp_path) in fail(Exit.BAD_INPUT, "info", tmp_path)


def test_broken_file_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.gr"
    file.write_text("p sp 3 2\na 1 2 4\na 1 9 1\n")
    message = fail(Exit.BAD_INPUT, "sssp", file, 0)
    assert "bad.gr, line 3" in message


@pytest.mark.parametrize(
    ("source", "said"), [("6", "6"), ("-1", "-1"), ("x", "'x'"), ("1.5", "1.5")]
)
def test_bad_source(graph_file: Path, source: str, said: str) -> None:
    message = fail(Exit.BAD_INPUT, "sssp", graph_file, source)
    assert said in message
    assert "0 to 5" in message


def test_unreachable_target(graph_file: Path) -> None:
    assert "not reached" in fail(Exit.NO_PATH, "path", graph_file, 0, 5)


def test_wrong_method_offers_the_nearest(graph_file: Path) -> None:
    message = fail(Exit.USAGE, "sssp", graph_file, 0, "--method", "dijkstra_binry_heap")
    assert "dijkstra_binary_heap" in message


@pytest.mark.parametrize("given", ["speed=3", "delta", "delta=-1", "limit=4"])
def test_wrong_option(graph_file: Path, given: str) -> None:
    fail(Exit.USAGE, "sssp", graph_file, 0, "--method", "delta_stepping@cpu", "--option", given)


@pytest.mark.parametrize("flags", [["--threads", "0"], ["--limit", "nan"], ["-o", "x.docx"]])
def test_wrong_flag_values(graph_file: Path, flags: list[str]) -> None:
    fail(Exit.USAGE, "sssp", graph_file, 0, *flags)


def test_output_folder_must_exist(graph_file: Path, tmp_path: Path) -> None:
    message = fail(Exit.USAGE, "sssp", graph_file, 0, "-o", tmp_path / "no" / "d.csv")
    assert "does not exist" in message


def test_negative_weight_names_methods(cycle_file: Path) -> None:
    message = fail(Exit.BAD_INPUT, "sssp", cycle_file, 0, "--method", "dijkstra_binary_heap")
    assert "bellman_ford@cpu" in message


def test_negative_cycle(cycle_file: Path) -> None:
    assert "negative cycle" in fail(Exit.NEGATIVE_CYCLE, "sssp", cycle_file, 0)


def test_cuda_method_without_a_gpu(graph_file: Path) -> None:
    from nearfar.cuda import runtime

    if runtime.available() is True:
        pytest.skip("this machine has a CUDA device")
    message = fail(Exit.UNAVAILABLE, "sssp", graph_file, 0, "--device", "cuda")
    assert len(message) > 40


def test_failed_proof_names_the_vertex(graph_file: Path, tmp_path: Path) -> None:
    table = tmp_path / "d.csv"
    succeed("sssp", graph_file, 0, "-o", table)
    table.write_text(table.read_text().replace("3,8", "3,7"))
    message = fail(Exit.FAILED_PROOF, "verify", graph_file, table)
    assert "from 3 (distance 7)" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("vertex,distance\n0,0\n", "6 vertices"),
        ("a,b\n1,2\n", "vertex"),
        ("vertex,distance\n0,0\n1,3\n2,1\n3,8\n4,8\n4,8\n", "no row"),
        ("vertex,distance\n0,0\n1,3\n2,1\n3,8\n4,8\n9,\n", "'9'"),
        ("vertex,distance\n0,0\n1,3\n2,one\n3,8\n4,8\n5,\n", "'one'"),
        ("vertex,distance\n0,0\n1,3\n2\n3,8\n4,8\n5,\n", "line 4"),
        ("vertex,distance\n0,\n1,\n2,\n3,\n4,\n5,\n", "--source"),
    ],
)
def test_bad_tables(graph_file: Path, tmp_path: Path, text: str, said: str) -> None:
    table = tmp_path / "d.csv"
    table.write_text(text)
    assert said in fail(Exit.BAD_INPUT, "verify", graph_file, table)


@pytest.mark.parametrize("suffix", ["csv.gz", "npz", "json", "parquet"])
def test_garbage_tables(graph_file: Path, tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"d.{suffix}"
    table.write_bytes(b"\x00\xff nothing of the kind")
    fail(Exit.BAD_INPUT, "verify", graph_file, table)


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = run("sssp", tmp_path / "none.gr", 0, "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


# ---- being a good citizen of a terminal ---------------------------------------------------------


def test_broken_pipe_is_silent(tmp_path: Path) -> None:
    graph = tmp_path / "g.nfg"
    succeed("generate", "path", "--vertices", 200_000, "-o", graph)
    command = " ".join(PROGRAM) + f" sssp {graph} 0 -o - | head -n 2"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "vertex,distance\n0,0\n"
    assert done.stderr == ""


def test_interrupt_leaves_no_file(tmp_path: Path) -> None:
    """Ctrl-C while the graph is being read: exit 130, no traceback, no half table."""
    fifo = tmp_path / "slow.gr"
    os.mkfifo(fifo)
    table = tmp_path / "d.csv"
    child = subprocess.Popen(
        [*PROGRAM, "sssp", str(fifo), "0", "-o", str(table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with fifo.open("w") as out:  # returns once the child has the other end open
        out.write("p sp 2 1\n")
        out.flush()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == Exit.INTERRUPTED
    assert err == "nearfar: interrupted\n"
    assert not table.exists()


def test_a_failed_write_leaves_nothing(graph_file: Path, tmp_path: Path) -> None:
    from nearfar.cli.answers import replacing

    target = tmp_path / "out.csv"
    target.write_text("old")

    def stop_half_way() -> None:
        with replacing(str(target)) as temporary:
            temporary.write_text("half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stop_half_way()
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.gr", "out.csv"]


def test_plain_says_what_json_can() -> None:
    value = {"a": np.float32(0.5), "b": [np.inf, np.int64(3)], "c": np.arange(2), 4: {1}}
    assert plain(value) == {"a": 0.5, "b": [None, 3], "c": [0, 1], "4": [1]}


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 us"), (0.0, "0 us")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
