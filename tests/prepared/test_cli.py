"""`nearfar prepare`, and prepared graphs as input of other commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.cli.console import Exit
from tests.prepared.test_queries import mesh
from tests.program import fail, succeed


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    nearfar.write(mesh(12), tmp_path / "mesh.gr")
    succeed("prepare", str(tmp_path / "mesh.gr"), "-o", str(tmp_path / "mesh.nfp"), "--quiet")
    return str(tmp_path / "mesh.gr"), str(tmp_path / "mesh.nfp")


def test_says_what_it_takes(files: tuple[str, str]) -> None:
    told = json.loads(succeed("prepare", files[0], "--dry-run", "--json"))
    assert told["n_vertices"] == 144
    assert told["n_edges"] == 264
    assert told["shortcuts"] == told["n_arcs"] - 264 > 0
    assert told["worth_preparing"] is True
    text = succeed("prepare", files[0], "--dry-run", "--seed", "3")
    assert "shortcuts" in text
    assert "worth it            yes" in text


def test_commands_read_a_prepared_graph(files: tuple[str, str]) -> None:
    for command in (
        ("path", "1", "140"),
        ("sssp", "1", "--method", "elimination_tree"),
        ("distances", "--source", "1", "2", "--method", "elimination_tree_rows"),
    ):
        words = [command[0], files[1], *command[1:], "--json"]
        told = json.loads(succeed(*words))
        assert told
    plain = json.loads(succeed("path", files[0], "1", "140", "--json"))
    walked = json.loads(succeed("path", files[1], "1", "140", "--json"))
    assert walked["length"] == plain["length"] == walked["distances"][-1]
    assert walked["vertices"][0] == 1
    assert walked["vertices"][-1] == 140
    assert walked["engine"] == "prepared"
    ready = json.loads(succeed("path", files[1], "1", "140", "--json", "--prove"))
    assert ready["length"] == plain["length"]
    assert ready["vertices"] == plain["vertices"]


def test_mistakes(files: tuple[str, str], tmp_path: Path) -> None:
    assert "needs -o FILE.nfp" in fail(Exit.USAGE, "prepare", files[0])
    assert "ends in .nfp" in fail(Exit.USAGE, "prepare", files[0], "-o", str(tmp_path / "a.gr"))
    assert "--read-option" in fail(
        Exit.USAGE, "path", files[1], "0", "1", "--read-option", "directed=false"
    )
    (tmp_path / "bad.nfp").write_bytes(b"nonsense")
    assert "not a prepared graph" in fail(
        Exit.BAD_INPUT, "path", str(tmp_path / "bad.nfp"), "0", "1"
    )


def test_a_refusal_speaks_of_the_flag(tmp_path: Path) -> None:
    random = nearfar.generate("uniform_random", vertices=2000, degree=8)
    nearfar.write(random, tmp_path / "random.nfg")
    told = fail(Exit.BAD_INPUT, "prepare", str(tmp_path / "random.nfg"), "-o", "x.nfp")
    assert told.count("force") == 1
    assert "; --force prepares it anyway" in told


def test_a_dry_run_says_whether_it_would_be_refused(tmp_path: Path) -> None:
    random = nearfar.generate("uniform_random", vertices=2000, degree=8)
    file = str(tmp_path / "random.nfg")
    nearfar.write(random, file)
    told = json.loads(succeed("prepare", file, "--dry-run", "--json"))
    assert told["worth_preparing"] is False
    assert "; --force prepares it anyway" in told["refused"]
    assert json.loads(succeed("prepare", file, "--dry-run", "--force", "--json"))["refused"] is None
    small = ("prepare", file, "--force", "--memory", "1M")
    text = succeed(*small, "--dry-run")
    line = next(one for one in text.splitlines() if one.startswith("refused"))
    assert "1.0 MiB free: give a greater --memory" in line
    assert line.removeprefix("refused").strip() in fail(Exit.OUT_OF_MEMORY, *small, "-o", "x.nfp")


def test_other_weights_for_a_prepared_file(files: tuple[str, str], tmp_path: Path) -> None:
    graph = nearfar.read(files[0])
    assert graph.weights is not None
    other, evening = tmp_path / "w.npy", str(tmp_path / "evening.nfp")
    np.save(other, graph.weights * 3 + 1)
    words = ("prepare", files[1], "--reweight", other, "-o", evening)
    assert "customization" in json.loads(succeed(*words, "--json"))["seconds"]
    found = nearfar.load(evening)
    truth = nearfar.sssp(graph.with_weights(graph.weights * 3 + 1), 1)
    assert nearfar.sssp(found, 1).distances.tolist() == truth.distances.tolist()
    assert "keeps the order" in fail(Exit.USAGE, *words, "--seed", "3")
    assert "leave out --memory" in fail(Exit.USAGE, *words, "--memory", "1G")
    assert "--reweight is for a prepared graph: prepare" in fail(
        Exit.USAGE, "prepare", files[0], *words[2:]
    )
    np.save(other, graph.weights[1:])
    assert "weights has shape" in fail(Exit.BAD_INPUT, *words)


@pytest.mark.usefixtures("emulated_gpu")
def test_other_weights_on_a_device(files: tuple[str, str], tmp_path: Path) -> None:
    graph = nearfar.read(files[0])
    assert graph.weights is not None
    (tmp_path / "w.txt").write_text("\n".join(map(str, (graph.weights + 5).tolist())))
    words = ("prepare", files[1], "--reweight", tmp_path / "w.txt", "--quiet")
    for device in ("cpu", "cuda"):
        succeed(*words, "--device", device, "-o", tmp_path / f"{device}.nfp")
    here, there = (nearfar.load(tmp_path / f"{device}.nfp") for device in ("cpu", "cuda"))
    assert there.metric.weights.tolist() == here.metric.weights.tolist()


def test_pairs_of_a_table(files: tuple[str, str], tmp_path: Path) -> None:
    table = tmp_path / "trips.csv"
    table.write_text("source,note,target\n1,a,140\n7,b,7\n")
    lines = succeed("distances", files[1], "--pairs", table).splitlines()
    assert lines == succeed("distances", files[0], "--pair", 1, 140, "--pair", 7, 7).splitlines()
    assert lines[1] == "7\t7\t0"
    told = json.loads(succeed("distances", files[0], "--pairs", table, "--json"))
    assert told["pairs"] == [[1, 140], [7, 7]]
    assert "--pairs cannot be combined with --pair" in fail(
        Exit.USAGE, "distances", files[0], "--pairs", table, "--pair", 1, 2
    )
    table.write_text("source,target\n1,x\n")
    assert "target 'x' is not a vertex" in fail(
        Exit.BAD_INPUT, "distances", files[0], "--pairs", table
    )
    table.write_text("from,to\n1,2\n")
    assert "line 1: no column 'source'" in fail(
        Exit.BAD_INPUT, "distances", files[0], "--pairs", table
    )


@pytest.mark.usefixtures("emulated_gpu")
def test_pairs_on_devices(files: tuple[str, str]) -> None:
    words = ("distances", files[1], "--pair", 1, 140, "--pair", 9, 3)
    assert succeed(*words, "--device", "cuda", "--devices", "0") == succeed(*words)


def test_its_graph_can_be_described_and_converted(files: tuple[str, str], tmp_path: Path) -> None:
    assert "prepared, made from dimacs" in succeed("info", files[1])
    back = tmp_path / "back.gr"
    succeed("convert", files[1], str(back), "--quiet")
    was, now = nearfar.read(files[0]), nearfar.read(back)
    assert (now.to_scipy() != was.to_scipy()).nnz == 0
    wide = tmp_path / "wide.nfg"
    succeed("convert", files[1], str(wide), "--dtype", "int64", "--quiet")
    assert nearfar.read(wide).weight_dtype == "int64"


def test_explain_shows_what_preparing_would_cost(files: tuple[str, str]) -> None:
    told = json.loads(succeed("distances", files[0], "--explain", "--json"))
    both = {item["id"]: item["reason"] for item in [*told["ranking"], *told["others"]]}
    assert "too few sources (144)" in both["prepare_first@cpu"]
    assert "not prepared" in both["elimination_tree_rows@cpu"]
    text = succeed("distances", files[1], "--source", "1", "2", "--target", "3", "--explain")
    assert "prepared by order" in text
    assert "elimination_tree_rows@cpu" in text
    assert "leave out --output" in fail(
        Exit.USAGE, "distances", files[0], "--explain", "-o", "x.npy"
    )
    assert "leave out --method" in fail(
        Exit.USAGE, "distances", files[0], "--explain", "--method", "lanes"
    )
    assert "prepared by order" in succeed("sssp", files[1], "1", "--explain")
