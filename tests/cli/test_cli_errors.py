"""Errors of the command line: one sentence, the right exit code, no partial file."""

from __future__ import annotations

import gzip
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nearfar.cli.console import Exit, duration, plain
from tests.program import PROGRAM, fail, run, succeed


def test_missing_file(tmp_path: Path) -> None:
    assert "none.gr" in fail(Exit.BAD_INPUT, "sssp", tmp_path / "none.gr", 0)


def test_folder_as_graph(tmp_path: Path) -> None:
    assert str(tmp_path) in fail(Exit.BAD_INPUT, "info", tmp_path)


def test_broken_file_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.gr"
    file.write_text("p sp 3 2\na 1 2 4\na 1 9 1\n")
    message = fail(Exit.BAD_INPUT, "sssp", file, 0)
    assert "bad.gr, line 3" in message


def test_content_that_unpacks_to_too_much(tmp_path: Path) -> None:
    file = tmp_path / "g.gr.gz"
    file.write_bytes(gzip.compress(b"p sp 2 1\n" + b"c" * 10**6 + b"\na 1 2 5\n"))
    message = fail(Exit.BAD_INPUT, "info", file, "--read-option", "max_unpacked=1e5")
    assert "--read-option max_unpacked=..." in message
    succeed("info", file, "--read-option", "max_unpacked=1e7")


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
    from nearfar.system.devices import runtime

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


# ---- being a good citizen of a terminal ---------------------------------------------------------


def test_broken_pipe_is_silent(tmp_path: Path) -> None:
    graph = tmp_path / "g.nfg"
    succeed("generate", "path", "--vertices", 200_000, "-o", graph)
    command = " ".join(PROGRAM) + f" sssp {graph} 0 -o - | head -n 2"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "vertex,distance\n0,0\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "module",
    [
        "argparse",
        "numpy",
        "json",
        "nearfar.errors",
        "nearfar.cli.console",
        "nearfar.cli.machine.tune",
    ],
)
def test_interrupted_while_importing(module: str) -> None:
    """Regression: Ctrl-C during imports printed a traceback."""
    program = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from nearfar.cli.main import main
sys.exit(main(["methods"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (Exit.INTERRUPTED, "")
    assert done.stderr == "nearfar: interrupted\n"


def test_interrupt_leaves_no_file(tmp_path: Path) -> None:
    """Ctrl-C while the graph is being read: exit 130, no traceback, no partial table."""
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


def _child(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_sigterm_leaves_one_line_and_no_file(tmp_path: Path) -> None:
    """Regression: temporary files remained, and no line named the reason."""
    graph, table = tmp_path / "g.nfg", tmp_path / "g.graphml"
    succeed("generate", "road_like", "--vertices", 200_000, "-o", graph)
    child = _child("convert", graph, table, "--quiet")
    deadline = time.monotonic() + 60
    while not any(".tmp." in p.name for p in tmp_path.iterdir()):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err.splitlines()[-1]) == (
        Exit.TERMINATED,
        "nearfar: ended by SIGTERM",
    )
    assert [p.name for p in tmp_path.iterdir()] == ["g.nfg"]


def test_sigterm_during_prepare_is_one_line(tmp_path: Path) -> None:
    graph = tmp_path / "g.nfg"
    succeed("generate", "road_like", "--vertices", 400_000, "-o", graph)
    child = _child("prepare", graph, "-o", tmp_path / "g.nfp", "--quiet")
    status, caught = Path(f"/proc/{child.pid}/status"), 0
    while not caught & 1 << signal.SIGTERM - 1:
        assert child.poll() is None, child.communicate()
        caught = int(status.read_text().split("SigCgt:")[1].split()[0], 16)
        time.sleep(0.01)
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (Exit.TERMINATED, "nearfar: ended by SIGTERM\n")
    assert [p.name for p in tmp_path.iterdir()] == ["g.nfg"]


LOSES_A_SIGNAL = """
import signal, weakref
from nearfar.cli.main import _Terminated, _terminating

def lose(reference):
    signal.raise_signal(signal.SIGTERM)

class Thing:
    pass

with _terminating():
    thing = Thing()
    reference = weakref.ref(thing, lose)
    del thing
    try:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            print("clean-up")
    except _Terminated:
        print("ended")
"""


def test_a_sigterm_that_python_drops_does_not_disable_the_next() -> None:
    """Regression: an exception in a callback was lost, and further signals were ignored."""
    found = subprocess.run(
        [sys.executable, "-c", LOSES_A_SIGNAL], capture_output=True, text=True, timeout=60
    )
    assert found.stdout == "clean-up\nended\n", found


@pytest.mark.parametrize("limited", [True, False])
def test_too_little_address_space_is_out_of_memory(graph_file: Path, limited: bool) -> None:
    """Regression: `info` under `ulimit -v 200000` exited with 1 when a library did not load."""
    program = f"""
import resource, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "nearfar._cpu":
            raise ImportError("_cpu.so: failed to map segment from shared object")
sys.meta_path.insert(0, Finder())
if {limited}:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 46, resource.RLIM_INFINITY))
from nearfar.cli.main import main
sys.exit(main(["info", {str(graph_file)!r}]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == (Exit.OUT_OF_MEMORY if limited else Exit.UNAVAILABLE)
    assert done.stderr.startswith("nearfar: error: ")
    assert done.stderr.endswith("ulimit -v\n") == limited
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are those of x86-64")
def test_a_module_that_does_not_load_is_one_sentence(graph_file: Path) -> None:
    """As on a processor below the lowest compiled level; see tests/cpu/test_isa.py."""
    done = subprocess.run(
        [*PROGRAM, "info", str(graph_file)],
        env={**os.environ, "NEARFAR_CPU_LEVEL": "v1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == Exit.UNAVAILABLE
    assert done.stderr.startswith("nearfar: error: NEARFAR_CPU_LEVEL=v1 was not compiled")
    assert len(done.stderr.splitlines()) == 1


def test_a_failed_write_leaves_nothing(graph_file: Path, tmp_path: Path) -> None:
    from nearfar.system.output import replacing

    target = tmp_path / "out.csv"
    target.write_text("old")

    def stop_half_way() -> None:
        with replacing(str(target)) as temporary:
            temporary.write_text("half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stop_half_way()
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.txt", "out.csv"]


def test_plain_says_what_json_can() -> None:
    value = {"a": np.float32(0.5), "b": [np.inf, np.int64(3)], "c": np.arange(2), 4: {1}}
    assert plain(value) == {"a": 0.5, "b": [None, 3], "c": [0, 1], "4": [1]}


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 us"), (0.0, "0 us")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sssp", "GRAPH", "0", "--limit", "-5"], "limit is -5: give at least 0"),
        (
            ["sssp", "GRAPH", "0", "--method", "near_far", "--option", "delta=abc"],
            "delta is 'abc': give a finite number",
        ),
        (
            ["sssp", "GRAPH", "0", "--method", "near_far", "--option", "delta=inf"],
            "delta is inf: give a finite number, or none",
        ),
        (
            ["sssp", "GRAPH", "0", "--method", "bucketing", "--option", "buckets=2.5"],
            "buckets is 2.5: give an integer",
        ),
        (
            ["sssp", "GRAPH", "0", "--method", "dijkstra_array", "--devices", "all"],
            "has no option 'devices': it has none; near_far_partitioned@cuda has it",
        ),
        (
            ["sssp", "GRAPH", "0", "--option", "devices=all"],
            "devices is not an option of a method; it has a flag",
        ),
        (
            ["path", "GRAPH", "0", "1", "--option", "targets=3"],
            "targets is not an option of a method\n",
        ),
        (
            ["sssp", "GRAPH", "0", "--devices", "all", "--explain"],
            "solves nothing: leave out --devices",
        ),
        (
            ["sssp", "GRAPH", "0", "--read-option", "directed=no"],
            "directed is 'no': give true or false, or none",
        ),
        (
            ["sssp", "GRAPH", "0", "--read-option", "skip_lines=-1"],
            "skip_lines is -1: give 0 or more",
        ),
        (
            ["convert", "GRAPH", "x.gr", "--write-option", "comment=3"],
            "comment is 3: give text",
        ),
        (["map", "GRAPH", "0", "-o", "x.png", "--limit", "-1"], "limit is -1: give at least 0"),
        (["distances", "GRAPH", "-o", "no/where.npy"], "its folder does not exist"),
        (["distances", "GRAPH", "-o", "a.npy", "--reduce", "count"], "leave out -o"),
        (["sweep", "GRAPH", "0", "--factors", "0"], "--factors 0: give numbers greater than 0"),
        (["sweep", "GRAPH", "0", "--factors", "nan"], "give numbers greater than 0"),
        (["experiment", "martin-2009", "-o", "GRAPH"], "is a file: give a folder"),
        (["bench", "peers", "--graphs", "small", "nope"], "no benchmark graph 'nope'"),
        (["bench", "peers", "--graphs", "small", "-o", "GRAPH"], "is a file: give a folder"),
        (["sweep", "GRAPH", "0", "-o", "no/x.json"], "does not exist"),
        (["path", "GRAPH", "0", "99", "-o", "r.txt"], "end it in .geojson or .gpkg"),
        (["path", "GRAPH", "0", "99", "-o", "no/r.geojson"], "does not exist"),
        (
            ["distances", "GRAPH", "--pair", "0", "1", "--explain"],
            "--pair cannot be combined with --explain",
        ),
        (["prepare", "GRAPH", "--dry-run", "-o", "x.nfp"], "--dry-run writes nothing"),
        (["convert", "GRAPH", "-", "--to", "edges"], "cannot go to standard output"),
        (["generate", "star", "-o", "-"], "cannot go to standard output"),
        (["sssp", "GRAPH", "0", "--profile", "no/x.json"], "does not exist"),
        (["plot", "GRAPH", "-o", "no/x.png"], "does not exist"),
        (["plot", "."], ". is a folder: give a profile"),
        (["report", ".", "-o", "no/x.html"], "does not exist"),
        (["sssp", "GRAPH", "0", "--explain", "-o", "x.csv"], "leave out --output"),
        (["sssp", "GRAPH", "0", "--explain", "--method", "near_far"], "leave out --method"),
        (["verify", "GRAPH", "GRAPH"], "answer '"),
        (["info", ""], "the name of the graph file is empty"),
        (["convert", "GRAPH", "x.unknown"], "give another suffix or a format"),
    ],
)
def test_arguments_that_make_no_sense(
    words: list[str], said: str, graph_file: Path, tmp_path: Path
) -> None:
    given = [str(graph_file) if word == "GRAPH" else word for word in words]
    assert said in fail(Exit.USAGE, *given)


def test_vertices_of_an_answer_are_not_called_targets(graph_file: Path) -> None:
    said = fail(Exit.BAD_INPUT, "nearest", str(graph_file), "--source", "0", "--vertex", "-1")
    assert "vertex -1 is outside the graph" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["experiment", "martin-2009", "-o", "x", "--budget", "nan"], "number of at least 0"),
        (["experiment", "martin-2009", "-o", "x", "--workers", "0"], "integer of at least 1"),
        (["bench", "peers", "--patience", "-1"], "number of at least 0"),
    ],
)
def test_numbers_out_of_range(words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.returncode, said in done.stderr) == (Exit.USAGE, True), done.stderr


def test_a_profile_that_is_none(graph_file: Path, tmp_path: Path) -> None:
    said = fail(Exit.BAD_INPUT, "plot", graph_file, "-o", tmp_path / "x.png")
    assert "give a file that `nearfar sssp --profile`" in said


def test_directed_graph_as_metis(graph_file: Path, tmp_path: Path) -> None:
    said = fail(Exit.BAD_INPUT, "convert", graph_file, tmp_path / "x.graph")
    assert "directed=false" in said


@pytest.mark.parametrize(
    "words", [["tune", "--rounds", "0"], ["paths", "g.gr", "0", "1", "-k", "0"]]
)
def test_counts_below_one(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == Exit.USAGE
    assert "integer of at least 1" in done.stderr


def test_no_gpu_is_one_reason(graph_file: Path) -> None:
    from nearfar.system.devices import runtime

    if runtime.available() is True:
        pytest.skip("a GPU is here")
    said = fail(Exit.UNAVAILABLE, "sssp", graph_file, 0, "--device", "cuda")
    assert said.count("no CUDA device") == 1


def test_an_option_given_twice(graph_file: Path) -> None:
    """Regression: the last value was used silently."""
    words = ("--option", "delta=5", "--option", "delta=6")
    said = fail(Exit.USAGE, "sssp", graph_file, 0, "--method", "delta_stepping", *words)
    assert "--option gives delta twice" in said


@pytest.mark.parametrize("edges", ["", "a,b", "5", "5,1"])
def test_edges_of_a_histogram(graph_file: Path, edges: str) -> None:
    said = fail(Exit.USAGE, "distances", graph_file, "--reduce", f"histogram:{edges}")
    assert "give ascending edges, as in histogram:0,10,20" in said


def test_little_memory_is_given_in_bytes(graph_file: Path, tmp_path: Path) -> None:
    """Regression: the message was "0.0 MiB needed, 0.0 MiB free"."""
    words = ("-o", tmp_path / "x.npy", "--memory", "1")
    assert " bytes needed, 1 bytes free" in fail(
        Exit.OUT_OF_MEMORY, "distances", graph_file, *words
    )


def test_what_takes_the_memory_is_named(graph_file: Path) -> None:
    """Regression: the message named the matrix of a single pair."""
    words = ("distances", graph_file, "--pair", 0, 1, "--memory", 1)
    said = fail(Exit.OUT_OF_MEMORY, *words)
    assert "in addition to its rows: use fewer threads, or a greater --memory" in said
    held = fail(Exit.OUT_OF_MEMORY, *words[:2], "--threads", 1, "--memory", 1)
    assert "the matrix takes 144 bytes" in held


def test_a_table_that_is_not_utf8(tmp_path: Path) -> None:
    """Regression: the message advised names=true, which fails as well."""
    pytest.importorskip("pyarrow")
    file = tmp_path / "towns.csv"
    file.write_bytes("from,to,weight\nZürich,Bern,3\n".encode("latin-1"))
    assert "column 'from' is not UTF-8" in fail(Exit.BAD_INPUT, "info", file)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".npz", ".nfg"])
def test_a_disk_without_room(tmp_path: Path, suffix: str) -> None:
    """Regression: the message was "a table file cannot hold this"."""
    pytest.importorskip("pyarrow")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    succeed("generate", "path", "--vertices", 5000, "-o", tmp_path / "g.nfg")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        out = tmp_path / f"x{suffix}"
        said = fail(Exit.BAD_INPUT, "convert", tmp_path / "g.nfg", out, "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "it cannot be written: " in said
    assert "File too large" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.nfg"]


def test_usage_errors_are_one_line(graph_file: Path, tmp_path: Path) -> None:
    """Regression: a missing argument printed eleven lines."""
    for words, said in (
        (("sssp",), "required: GRAPH, SOURCE; `nearfar sssp --help` shows what it takes"),
        (("path", graph_file), "required: SOURCE, TARGET"),
        (("sssp", graph_file, 1, "--limt", 3), "did you mean '--limit'?"),
        (("spps", graph_file), "no command 'spps'; did you mean 'sssp'?"),
    ):
        done = subprocess.run(
            [*PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == Exit.USAGE
        assert len(done.stderr.splitlines()) == 1
        assert said in done.stderr


def test_vertices_with_commas_are_told_of_spaces(graph_file: Path) -> None:
    line = fail(Exit.BAD_INPUT, "distances", graph_file, "--source", "1,2,3")
    assert line.strip().endswith("separate several vertices by spaces: 1 2 3")


def test_a_large_matrix_is_not_printed_unasked(tmp_path: Path) -> None:
    """Regression: `nearfar distances roads.gr.gz` printed n x n numbers."""
    graph = tmp_path / "g.nfg"
    succeed("generate", "path", "--vertices", 1_500, "-o", graph)
    line = fail(Exit.USAGE, "distances", graph)
    assert "prints 2,250,000 numbers" in line
    assert "--source" in line
    assert len(succeed("distances", graph, "--reduce", "mean").splitlines()) == 1_500
    assert len(succeed("distances", graph, "--target", 1).splitlines()) == 1_500


@pytest.mark.parametrize("suffix", [".sg", ".jlg"])
def test_weights_that_a_format_does_not_hold(graph_file: Path, tmp_path: Path, suffix: str) -> None:
    """Regression: the message advised a reader's option, or a method of Python."""
    said = fail(Exit.BAD_INPUT, "convert", graph_file, tmp_path / f"g{suffix}")
    assert "read the graph with --weight none" in said
    assert run("convert", graph_file, tmp_path / f"g{suffix}", "--weight", "none").returncode == 0
