"""Convenience in a shell: names, suggestions, standard input, places, --quiet, completion."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.cli.console import Exit
from nearfar.solve import many
from nearfar.solve.rows.files import finished_blocks
from tests.program import PROGRAM, fail, run, succeed


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """Return four corners with coordinates in degrees."""
    graph = nearfar.Graph.from_edges(
        [0, 1, 2], [1, 2, 3], [5, 6, 7],
        vertex_names=range(11, 15), names=False,
        coordinates=[[24.94, 60.17], [24.95, 60.17], [24.96, 60.17], [18.4, -33.9]],
    )  # fmt: skip
    nearfar.write(graph, tmp_path / "town.nfg")
    return tmp_path / "town.nfg"


# ---- one name per thing --------------------------------------------------------------------------


def test_targets_and_outputs_have_one_name(graph_file: Path, tmp_path: Path) -> None:
    found = json.loads(succeed("sssp", graph_file, 0, "--target", 1, 5, "--json"))
    assert found["targets"] == {"1": 3, "5": None}
    assert found["n_vertices"] == 6
    file = tmp_path / "rows.npy"
    told = json.loads(succeed("distances", graph_file, "--output", file, "--json"))
    assert told["output"] == str(file)
    for command in ("sssp", "distances"):
        text = succeed(command, "--help")
        assert "--targets" not in text
        assert "--out " not in text
        assert "--output FILE" in text
        assert "--target " in text


def test_old_names_are_still_understood(graph_file: Path, tmp_path: Path) -> None:
    old = json.loads(succeed("sssp", graph_file, 0, "--targets", 1, 5, "--json"))
    assert old["targets"] == {"1": 3, "5": None}
    succeed("distances", graph_file, "--out", tmp_path / "rows.npy")
    assert np.load(tmp_path / "rows.npy").shape == (6, 6)


def test_quiet_leaves_only_errors(graph_file: Path, tmp_path: Path) -> None:
    native = str(tmp_path / "g.nfg")
    for words in (
        ["sssp", graph_file, 0],
        ["sssp", graph_file, 0, "-o", tmp_path / "d.csv"],
        ["convert", graph_file, native],
        ["generate", "grid", "--rows", 3, "--columns", 3, "-o", tmp_path / "grid.nfg"],
        ["distances", graph_file, "-o", tmp_path / "rows.npy"],
        ["sweep", graph_file, 0, "--factors", 1, "-o", tmp_path / "sweep.json"],
    ):
        done = run(*words, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run("sssp", graph_file, 0, "--target", 1, 5, "-q").stdout == "1\t3\n5\tinf\n"
    assert run("path", graph_file, 0, 3, "-q").stdout.splitlines()[-1] == "3\t8"  # requested data
    assert fail(Exit.BAD_INPUT, "sssp", graph_file, 99, "-q")
    assert json.loads(run("sssp", graph_file, 0, "-q", "--json").stdout)["reached"] == 5


def test_columns_of_json_are_named(graph_file: Path) -> None:
    found = json.loads(succeed("distances", graph_file, "--source", 0, "--target", 3, 1, "--json"))
    assert found == {"sources": [0], "values": [[8, 3]], "targets": [3, 1]}
    reduced = json.loads(succeed("distances", graph_file, "--reduce", "count", "--json"))
    assert set(reduced) == {"sources", "values"}


def test_options_of_readers_are_named_as_the_shell_takes_them(
    graph_file: Path, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a;b;c\n1;2;3\n")
    said = fail(Exit.BAD_INPUT, "info", table)
    assert "pass --read-option columns=..., two or three of a" in said
    said = fail(Exit.BAD_INPUT, "convert", graph_file, tmp_path / "x.graph")
    assert "read it with --read-option directed=false" in said
    streets = tmp_path / "streets.gpkg"
    streets.write_bytes(b"SQLite format 3\0")
    assert "from_geodataframe" in fail(Exit.BAD_INPUT, "info", streets)


# ---- suggestions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ssp"], "no command 'ssp'; did you mean 'sssp'?"),
        (["generate", "rod_like"], "no family 'rod_like'; did you mean 'road_like'?"),
        (["sssp", "g.gr", "0", "--limt", "3"], "--limt 3; did you mean '--limit'?"),
        (
            ["sssp", "g.gr", "0", "--device", "cudaa"],
            "give auto, cpu, cuda; did you mean 'cuda'",
        ),
        (["generate", "grid", "--row", "3"], "--row 3; did you mean '--rows'?"),
        (["plot", "profile.jsn", "--outptu", "x"], "did you mean '--output'"),
    ],
)
def test_what_is_nearly_right_gets_a_suggestion(words: list[str], hint: str) -> None:
    done = run(*words)
    assert done.returncode == Exit.USAGE
    assert hint in done.stderr


def test_errors_speak_of_flags(graph_file: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "edges.gr"
    nearfar.write(nearfar.read(graph_file), wrong, format="matrix-market")
    assert "or pass --format matrix-market" in fail(Exit.BAD_INPUT, "info", wrong)
    assert "or pass --from matrix-market" in fail(
        Exit.BAD_INPUT, "convert", wrong, tmp_path / "g.nfg"
    )
    memory = fail(Exit.OUT_OF_MEMORY, "generate", "grid", "--rows", 10**7, "--columns", 10**7)
    assert "=" not in memory.partition("error:")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sssp", "GRAPH", "0", "--threads", "0"], "--threads is 0: give an integer of at lea"),
        (["distances", "GRAPH", "-o", "rows.csv"], "--output is 'rows.csv': end it in .npy"),
        (["distances", "GRAPH", "-o", "."], "--output is '.': end it in .npy"),
        (["distances", "GRAPH", "--reduce", "median"], "--reduce is 'median': use 'count'"),
        (["nearest", "GRAPH", "--source", "0", "-k", "0"], "'0' is not an integer of at least"),
        (["sssp", "GRAPH", "0", "--limit", "far"], "argument --limit: 'far' is not a number"),
        (["sssp", "GRAPH", "0", "--threads", "two"], "argument --threads: 'two' is not an integer"),
        (["help"], "did you mean '--help'?"),
        (["version"], "did you mean '--version'?"),
    ],
)
def test_values_of_the_wrong_kind(words: list[str], said: str, graph_file: Path) -> None:
    done = run(*[str(graph_file) if word == "GRAPH" else word for word in words])
    assert done.returncode == Exit.USAGE
    assert said in done.stderr
    assert "None" not in done.stderr
    assert "('histogram'" not in done.stderr


def test_a_graph_that_is_not_kept_says_so(tmp_path: Path) -> None:
    words = ("generate", "grid", "--rows", 3, "--columns", 3)
    assert "not written: give -o FILE to write the graph" in run(*words).stderr
    assert run(*words, "-q").stderr == ""
    assert "not written" not in run(*words, "-o", tmp_path / "g.nfg").stderr


def test_a_gpu_is_cuda_in_every_command(graph_file: Path) -> None:
    for words in (
        ["sssp", graph_file, 0, "--device", "gpu"],
        ["measure", "betweenness", graph_file, "--device", "gpu"],
        ["prepare", graph_file, "-o", "x.nfp", "--device", "gpu"],
        ["tune", "--device", "gpu"],
    ):
        assert "CUDA device" in fail(Exit.UNAVAILABLE, *words)
    assert "near_far@cuda" in succeed("methods", "--device", "gpu")


# ---- standard input ------------------------------------------------------------------------------


def test_a_graph_from_standard_input(graph_file: Path, tmp_path: Path) -> None:
    text = graph_file.read_bytes()
    command = [*PROGRAM, "path", "-", "0", "3", "--format", "edges", "--json"]
    done = subprocess.run(command, input=text, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["length"] == 8
    with graph_file.open("rb") as file:
        command = [*PROGRAM, "convert", "-", str(tmp_path / "g.nfg"), "--from", "edges"]
        assert subprocess.run(command, stdin=file, timeout=120, check=False).returncode == 0
    assert nearfar.read(tmp_path / "g.nfg").n_edges == 6


# ---- places --------------------------------------------------------------------------------------


def test_places_name_the_nearest_vertex(town: Path) -> None:
    done = run("path", town, "60.1701,24.9401", "60.17,24.96", "--json")
    found = json.loads(done.stdout)
    assert (found["source"], found["target"], found["length"]) == (11, 13, 11)
    assert "60.1701,24.9401 is nearest to vertex 11, 12.42 m away" in done.stderr
    swapped = run("path", town, "60.17,24.94", "120.5,24.96")
    assert "120.5,24.96 is not a place on the Earth: write LAT,LON in degrees" in swapped.stderr
    south = json.loads(succeed("sssp", town, "-33.9,18.4", "--json", "-q"))
    assert south["source"] == 14
    told = json.loads(succeed("distances", town, "--source=60.17,24.94", "--json"))
    assert told["sources"] == [11]


def test_a_place_needs_coordinates(graph_file: Path) -> None:
    assert "has no coordinates" in fail(Exit.BAD_INPUT, "sssp", graph_file, "60.1,24.9")


def test_a_name_with_a_comma_is_a_name(tmp_path: Path) -> None:
    file = tmp_path / "g.csv"
    file.write_text('source,target\n"1,2","2,2"\n')
    assert json.loads(succeed("path", file, "1,2", "2,2", "--json"))["length"] == 1


# ---- Ctrl-C --------------------------------------------------------------------------------------


def test_an_interrupted_file_says_what_is_kept(
    graph_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = many.distances

    @functools.wraps(real)
    def interrupted(*args: object, **call: object) -> object:
        def stop(done: float, total: float) -> None:
            if done >= 4:
                raise KeyboardInterrupt

        return real(*args, **{**call, "progress": stop, "block": 2})  # type: ignore[call-overload]

    monkeypatch.setattr(many, "distances", interrupted)
    file = tmp_path / "rows.npy"
    done = run("distances", graph_file, "-o", file)
    assert done.returncode == Exit.INTERRUPTED
    assert f"2 of 3 blocks are kept in {file}; the same command resumes" in done.stderr
    monkeypatch.undo()
    succeed("distances", graph_file, "-o", file)
    assert finished_blocks(file) == (3, 3)
    assert finished_blocks(tmp_path / "none.npy") is None


# ---- completion ----------------------------------------------------------------------------------


def completions(line: str, tmp_path: Path) -> list[str]:
    """Return the completions that a shell would offer for a line."""
    out = tmp_path / "words"
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(out),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    code = "import sys; sys.argv[0] = 'nearfar'; from nearfar.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code], env=environment, timeout=120, check=False)
    return out.read_text().splitlines()


def test_the_shell_completes_commands_flags_and_methods(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    assert completions("nearfar ss", tmp_path) == ["sssp"]
    assert "--limit" in completions("nearfar sssp g.gr 1 --li", tmp_path)
    found = completions("nearfar sssp g.gr 1 --method dijkstra_f", tmp_path)
    assert "dijkstra_fibonacci_heap" in found
    assert "road_like" in completions("nearfar generate ro", tmp_path)
