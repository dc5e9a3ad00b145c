"""The command line, run as a program: data, exit codes, messages, files."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.cli.console import EXIT_CODES, Exit, exit_code
from nearfar.cli.main import build_parser, commands, main
from tests.datafiles import data_path
from tests.loading import ROOT
from tests.program import fail, run, succeed

# ---- every command ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(commands()))
def test_help_has_examples_and_shared_flags(name: str) -> None:
    text = succeed(name, "--help")
    assert "examples:" in text
    assert f"nearfar {name}" in text
    assert "exit codes" not in text  # once, in the program's own help
    for flag in ("--json", "--quiet", "--debug"):
        assert flag in text


@pytest.mark.parametrize("name", list(commands()))
def test_examples_parse(name: str) -> None:
    """The program accepts the examples in the help."""
    parser = build_parser()
    examples = [shlex.split(line) for line in commands()[name].EXAMPLES.strip().splitlines()]
    assert any(words[:2] == ["nearfar", name] for words in examples)
    for words in examples:
        assert words[0] == "nearfar"
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
    named = {name: getattr(errors, name) for name in errors.__all__}
    kinds = {name: kind for name, kind in named.items() if isinstance(kind, type)}
    for name, kind in kinds.items():
        code = exit_code(kind(*arguments.get(name, ["text"])))
        if name not in ("NearfarError", "SolverError"):
            assert code is not Exit.UNEXPECTED, name
    assert exit_code(ZeroDivisionError()) is Exit.UNEXPECTED
    assert exit_code(MemoryError()) is Exit.OUT_OF_MEMORY


def test_the_programs_help_has_the_exit_codes() -> None:
    text = succeed("--help")
    for meaning in EXIT_CODES.values():
        assert meaning in text


def test_no_command_shows_help_and_is_a_usage_error() -> None:
    done = run()
    assert done.returncode == Exit.USAGE
    assert "usage: nearfar" in done.stderr
    assert done.stdout == ""


def test_a_hint_ends_the_sentence() -> None:
    told = run("measure", "betweeness").stderr
    assert "no measure 'betweeness'; did you mean 'betweenness'? `nearfar measure --help`" in told


def test_unknown_command_is_a_usage_error() -> None:
    done = run("dijkstra")
    assert done.returncode == Exit.USAGE
    assert "no command 'dijkstra'; `nearfar --help` lists them all" in done.stderr


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("ssp", "roads.gr", "1"), "'sssp'"),
        (("generate", "country_road"), "'country_roads'"),
        (("generate", "country_roads", "--oneway", "0.2"), "'--one-way'"),
        (("sssp", "roads.gr", "1", "--metod=auto"), "'--method'"),
        (("sssp", "roads.gr", "1", "--device", "cud"), "'cuda'"),
        (("--verison",), "'--version'"),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest_known(
    given: tuple[str, ...], meant: str
) -> None:
    done = run(*given)
    assert done.returncode == Exit.USAGE
    assert f"did you mean {meant}?" in done.stderr


def test_a_flag_of_several_values_adds_when_it_is_given_again(graph_file: Path) -> None:
    """Regression: the first --source was dropped silently."""
    twice = succeed("distances", graph_file, "--source", "0", "--source", "1", "--target", "2", "3")
    assert twice == succeed("distances", graph_file, "--source", "0", "1", "--target", "2", "3")
    assert len(twice.splitlines()) == 2
    again = succeed("measure", "skims", graph_file, "--source", 0, "--source", 1, "--target", 2)
    assert [line.split("\t")[0] for line in again.splitlines()] == ["0", "1"]
    parser = build_parser("bench")
    assert parser.parse_args(["bench", "peers", "--threads", "4"]).threads == [4]
    args = parser.parse_args(["bench", "peers", "--threads", "4", "--threads", "1", "2"])
    assert args.threads == [4, 1, 2]


def test_an_unknown_word_that_is_near_to_none_is_named(graph_file: Path) -> None:
    done = run("sssp", graph_file, "0", "--zzz")
    assert done.returncode == Exit.USAGE
    assert "--zzz" in done.stderr
    assert "did you mean" not in done.stderr


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
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["g.txt", table.name])
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


def test_a_reason_that_many_methods_share_is_said_once() -> None:
    from nearfar.cli.explanation import not_ranked

    others = {"a@cuda": "no GPU", "b@cuda": "no GPU", "c@cuda": "no GPU", "d@cpu": "too - big"}
    assert list(not_ranked(others, 6, {"a@cuda": "3 ms"})) == [
        "   3 methods: no GPU",
        "     a@cuda  3 ms",
        "     b@cuda",
        "     c@cuda",
        "     d@cpu   too - big",
    ]


def test_help_keeps_every_command_beside_what_it_does() -> None:
    text = succeed("--help")
    for name, module in commands().items():
        assert re.search(rf"^ +{name} +{re.escape(module.HELP)}$", text, re.MULTILINE), name


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
    assert succeed("path", graph_file, 0, 3, "--limit", 8) == done.stdout
    assert "within the limit 7" in fail(Exit.NO_PATH, "path", graph_file, 0, 3, "--limit", 7)


def test_info(graph_file: Path) -> None:
    text = succeed("info", graph_file, "--source", 0)
    for label in ("vertices", "out-degree", "weights", "reach from 0", "diameter", "method"):
        assert label in text
    names = graph_file.with_name("names.csv")
    names.write_text("source,target,weight\nHEL,ARN,247\nARN,OSL,240\n")
    assert "reach from HEL" in succeed("info", names, "--source", "HEL")
    data = json.loads(succeed("info", graph_file, "--source", 0, "--json"))
    assert data["n_vertices"] == 6
    assert data["reach"]["reached"] == 5
    assert data["auto"]["method"].endswith("@cpu")


def test_convert_round_trip(graph_file: Path, tmp_path: Path) -> None:
    native, back = tmp_path / "g.nfg", tmp_path / "back.gr.gz"
    succeed("convert", graph_file, native)
    data = json.loads(succeed("convert", native, back, "--json"))
    assert (data["n_vertices"], data["n_edges"]) == (6, 6)
    assert data["output_format"] == "dimacs"
    assert "weights, coordinates" in data["output_keeps"]
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


def test_doctor_names_a_package_of_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named: dict[str, list[str]] = {}
    for one in json.loads(succeed("doctor", "--json"))["optional"]:
        for extra in one["extra"].split(" or "):
            named.setdefault(extra, []).append(one["package"])
    extras = project["optional-dependencies"]
    assert sorted(named) == sorted(set(extras) - {"dev", "docs", "peers"})
    for extra, packages in named.items():
        known = " ".join(extras[extra]).replace("scikit-learn", "sklearn")
        assert all(package in known for package in packages), extra


def test_doctor() -> None:
    data = json.loads(succeed("doctor", "--json"))
    assert data["healthy"] is True
    assert data["self_test"]["cpu"]["passed"] is True
    assert data["versions"]["numpy"] == np.__version__
    assert data["machine"]["cores"] >= 1
    assert data["cuda"]["available"] is (data["cuda"]["reason"] == "")
    assert data["machine"]["memory"] >= data["machine"]["memory_free"] > 0
    assert data["versions"]["instruction_set"] in data["versions"]["instruction_sets"]
    assert data["caches"]["files"] >= 0
    text = succeed("doctor")
    assert "self-test" in text
    assert all(item in text for item in data["faster"])


@pytest.mark.usefixtures("emulated_gpu")
def test_doctor_warms_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from nearfar.cli.machine import doctor

    small = [(family, {**size, "vertices": 120}) for family, size in doctor._COMMON]
    monkeypatch.setattr(doctor, "_COMMON", tuple(small))
    solved: list[tuple[str, str]] = []
    for name in ("sssp", "distances"):
        given = getattr(nearfar, name)

        def seen(graph: Any, *rest: Any, name: str = name, given: Any = given, **more: Any) -> Any:
            assert more["device"] == "cuda"
            solved.append((name, graph.weight_dtype.name if graph.is_weighted else "none"))
            return given(graph, *rest, **more)

        monkeypatch.setattr(nearfar, name, seen)
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path))
    warmed = doctor._warmed()
    assert {kind for _, kind in solved} == {"int32", "float32", "float64", "none"}
    assert len(solved) == 24
    assert warmed["files"] == 0  # the emulated device has its own cache
    assert warmed["seconds"] > 0


def test_doctor_warms_nothing_without_a_gpu() -> None:
    from nearfar.system.devices import runtime

    if runtime.available() is True:
        pytest.skip("there is a GPU")
    assert "no CUDA device" in fail(Exit.UNAVAILABLE, "doctor", "--warm")


def test_doctor_says_what_would_make_it_faster() -> None:
    from nearfar.cli.machine.doctor import _faster

    facts: dict[str, Any] = {
        "versions": {
            "module": "_cpu.so",
            "instruction_set": "v2",
            "instruction_sets": ["v2"],
            "processor_level": "v4",
        },
        "machine": {"cores": 2, "cores_of_machine": 16},
        "cuda": {"available": False, "cache": None},
        "caches": {"calibrated": False},
        "optional": [{"package": "cupy", "version": None}],
    }
    said = "\n".join(_faster(facts))
    for word in ("built for v2", "v4", "2 of 16 cores", "nearfar tune"):
        assert word in said
    facts["versions"]["instruction_sets"] = ["v2", "v3", "v4"]
    assert _faster(facts)[0] == "NEARFAR_CPU_LEVEL keeps the loops at v2: unset it to use v4"
    facts["versions"]["instruction_set"] = "v4"
    facts["machine"]["cores"] = 16
    facts["caches"]["calibrated"] = True
    facts["optional"] = [{"package": name, "version": "1"} for name in ("cupy",)]
    assert _faster(facts) == []


def test_distances_from_many_sources(tmp_path, capsys):
    from nearfar.cli.main import main

    file, rows = tmp_path / "g.csv", tmp_path / "rows.npy"
    file.write_text("source,target,weight\na,b,4\nb,c,3\na,c,9\n")
    call = ["distances", str(file)]
    assert main([*call, "--pair", "a", "c", "--pair", "b", "c"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["a\tc\t7", "b\tc\t3"]
    assert main([*call, "--pair", "c", "a"]) == 0
    assert capsys.readouterr().out == "c\ta\tinf\n"
    assert main([*call, "--source", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"] == [[None, None, 0]]
    assert main([*call, "--source", "a", "c", "--reduce", "nearest:2"]) == 0
    assert capsys.readouterr().out == "a\tb\tc\t4\t7\nc\t-\t-\tinf\tinf\n"
    assert main([*call, "--reduce", "count"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == ["a\t2", "b\t1", "c\t0"]
    assert main([*call, "--source", "c", "--reduce", "summary"]) == 0
    assert capsys.readouterr().out == "c\t0\t0.0\tinf\n"
    assert main([*call, "--source", "a", "--reduce", "histogram:0,5,10"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "a\t1\t1"
    assert main([*call, "--out", str(rows)]) == 0
    assert rows.exists()
    assert (tmp_path / "rows.npy.manifest.json").exists()
    assert main([*call, "--reduce", "median"]) == 2
    before = tmp_path / "before.npy"
    trees = [*call, "--method", "floyd_warshall", "--device", "cpu"]
    trees += ["--predecessors-output", str(before)]
    assert main(trees) == 0
    assert capsys.readouterr().out.splitlines()[-3:][0] == "a\t0\t4\t7"
    assert np.load(before).tolist() == [[-1, 0, 1], [-1, -1, 1], [-1, -1, -1]]
    plain = tmp_path / "plain.npy"
    assert main([*trees, "--out", str(plain)]) == 0
    np.testing.assert_array_equal(np.load(plain), np.load(rows))
    for wrong in (["--target", "b"], ["--reduce", "count"], ["--out", str(tmp_path / "x.zarr")]):
        assert main([*trees, *wrong]) == 2


def test_weight_names_the_column_of_every_command(tmp_path: Path) -> None:
    """Regression: a table with `km` was read as unweighted, with exit code 0."""
    table = tmp_path / "flights.csv"
    table.write_text("from,to,km\nHel,Arn,400\nArn,Osl,386\nHel,Osl,790\n", encoding="utf-8")
    for command, *ends in (["path", "Hel", "Osl"], ["sssp", "Hel"], ["paths", "Hel", "Osl"]):
        message = fail(Exit.BAD_INPUT, command, table, *ends)
        assert "numbers in km: choose with --weight km; --weight none counts edges" in message
        message = fail(Exit.BAD_INPUT, command, table, *ends, "--weight", "kms")
        assert "no column 'kms'; did you mean 'km'?" in message
    for weight, length in (("km", 786), ("none", 1)):
        told = succeed("path", table, "Hel", "Osl", "--weight", weight, "--json")
        assert json.loads(told)["length"] == length


def test_the_help_says_what_an_unreached_vertex_is_in_a_file(
    graph_file: Path, tmp_path: Path
) -> None:
    text = " ".join(run("distances", "--help").stdout.split())
    assert "Unreached vertices are inf" in text
    assert "in a file of integers they are the largest value of the dtype" in text
    file = tmp_path / "rows.npy"
    succeed("distances", graph_file, "--source", "0", "-o", file)
    assert np.load(file)[0, 5] == 2147483647


def test_a_size_as_people_write_it() -> None:
    found = json.loads(succeed("generate", "path", "--vertices", "1e3", "--json"))
    assert found == json.loads(succeed("generate", "path", "--vertices", "1000", "--json")) | {
        name: found[name] for name in found if "seconds" in name
    }
    said = fail(Exit.USAGE, "generate", "path", "--vertices", "1.5")
    assert "--vertices is 1.5: give an integer" in said


def test_paths_shortest_first(graph_file: Path) -> None:
    lines = succeed("paths", graph_file, 0, 3, "--quiet").splitlines()
    assert lines == ["8\t3\t0 2 1 3", "9\t2\t0 1 3"]
    lines = succeed("paths", graph_file, 0, 3, "--limit", 8, "--quiet").splitlines()
    assert lines == ["8\t3\t0 2 1 3"]
    said = fail(Exit.NO_PATH, "paths", graph_file, 0, 3, "--limit", 7)
    assert "within the limit 7" in said


def test_paths_as_json(graph_file: Path) -> None:
    found = json.loads(succeed("paths", graph_file, 0, 3, "-k", 1, "--json"))
    assert found["paths"] == [{"length": 8, "vertices": [0, 2, 1, 3]}]
    assert (found["source"], found["target"], found["k"]) == (0, 3, 1)


def test_paths_of_names_and_floats(named_file: Path) -> None:
    lines = succeed("paths", named_file, "Bern", "Chur", "--quiet").splitlines()
    assert lines == ["3.75\t2\tBern Basel Chur", "9.0\t1\tBern Chur"]


def test_a_note_says_when_there_are_no_more_paths(graph_file: Path) -> None:
    done = run("paths", graph_file, 0, 3, "-k", 5)
    assert "2 paths, 8 to 9" in done.stderr
    assert "there are only 2" in done.stderr


def test_errors_of_paths(graph_file: Path, cycle_file: Path) -> None:
    assert "vertex 5 is not reached from 0" in fail(Exit.NO_PATH, "paths", graph_file, 0, 5)
    assert "at least 1" in run("paths", graph_file, 0, 3, "-k", 0).stderr
    assert "99" in fail(Exit.BAD_INPUT, "paths", graph_file, 0, 99)
    assert "negative" in fail(Exit.NEGATIVE_CYCLE, "paths", cycle_file, 0, 3)


def test_path_in_a_prepared_file_with_turns(tmp_path: Path, capsys: Any) -> None:
    city, file = str(data_path("transport-misc/Helsinki.osm.pbf.xz")), str(tmp_path / "city.nfp")
    assert main(["prepare", city, "--turns", "-o", file, "-q"]) == 0
    ends = ["60.17,24.94", "60.19,24.96"]
    capsys.readouterr()
    answers = []
    for given in (["path", city], ["path", file], ["path", file, "--prove"]):
        assert main([*given, *ends, "--turns", "--json", "-q"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    lengths = [answer["length"] for answer in answers]
    assert lengths[1] == pytest.approx(lengths[0], rel=1e-12)  # added in fixed point
    assert lengths[2] in lengths[:2]
    assert answers[1]["distances"][-1] == lengths[1]
    assert answers[2]["proved"]
    assert main(["path", file, *ends]) == 2
    assert "with turn costs" in capsys.readouterr().err


def test_a_reweighted_file_takes_no_turns(tmp_path: Path, capsys: Any) -> None:
    out = str(tmp_path / "b.nfp")
    assert main(["prepare", "a.nfp", "--reweight", "w.npy", "--turns", "-o", out]) == 2
    assert "leave out --turns" in capsys.readouterr().err
