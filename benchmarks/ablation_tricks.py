"""Tricks of the CPU engine, each given by the edit that removes it, and builds without them.

The engine has no switches. A trick is removed from a copy of the package by replacing a piece of
its text, and the affected parts of the compiled module are rebuilt. A test checks that every piece
of text occurs where this file expects it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Only measured code is recompiled: the units of this folder, and the edited files.
FAMILY = "algorithms/delta_stepping/"
BREADTH_FIRST = "algorithms/breadth_first/"
PREPARED = "prepared/"
MEASURES = "measures/"
RASTER = "raster/"
FAMILIES = (FAMILY, BREADTH_FIRST, PREPARED, MEASURES, RASTER)


@dataclass(frozen=True)
class Trick:
    """Optimisation of an engine, and its replacement.

    Attributes
    ----------
    name : str
    without : str
        Behaviour of the engine without it.
    edits : tuple of (str, str)
        Text that occurs exactly once in one source file, and its replacement.
    environment : dict
        Variables for the process that runs without it.
    several : bool
        Whether it matters only with several threads.
    """

    name: str
    without: str
    edits: tuple[tuple[str, str], ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    several: bool = False

    @property
    def folder(self) -> str:
        """Name of the trick's folder."""
        return re.sub(r"\W+", "_", self.name)


def _no_fetch(stage: str) -> tuple[str, str]:
    heads = {
        "row": "void fetch_row(const C& csr, const Weight* distances, Index v) {",
        "edges": "void fetch_edges(const C& csr, Index v) const {",
    }
    return heads[stage], f"{heads[stage]}\n    return;"


#: The unchanged code, whose row shows the noise.
NOTHING = Trick("nothing", "the same code, in a separate process")

EIGHTS = Trick(
    "eight edges at once",
    "every edge of a long row by itself",
    (("kCredit = 64, kLoss", "kCredit = -1, kLoss"),),
)

ALONE = Trick(
    "alone",
    "a leader without helpers synchronises as one of several",
    (("bool plain = alone(me, i);", "bool plain = false;"),),
    several=True,
)

OWN_CORE = Trick(
    "a core of one's own",
    "helpers may run on the leader's core",
    (("const int core = this_core();", "const int core = -1;"),),
    several=True,
)

TRICKS = (
    NOTHING,
    Trick(
        "sift of long rows",
        "every target of a long row is read",
        (("if (long_edges_ < n) return;", "if (n != ~std::size_t{0}) return;"),),
    ),
    EIGHTS,
    Trick(
        "near distances without a sift",
        "long rows are sifted however few vertices there are",
        (("sifts_(Narrow<C> || ", "sifts_(true || "),),
    ),
    Trick(
        "narrow view",
        "long rows are packed edges as well",
        (("if graph.mean_degree < _LONG_ROWS or", "if True or"),),
    ),
    Trick(
        "full buckets in order",
        "a full bucket is processed in the order in which it was filled",
        (("if (bucket.size <= full_) return;", "if (full_ != 0) return;"),),
    ),
    Trick(
        "dead ends",
        "dead ends are not marked, and are queued",
        (("return found * 32 > kSample;", "return false;"),),
    ),
    Trick(
        "prefetch",
        "nothing is prefetched",
        (_no_fetch("row"), _no_fetch("edges")),
    ),
    Trick("prefetch: rows", "only edges are prefetched", (_no_fetch("row"),)),
    Trick("prefetch: edges", "only rows are prefetched", (_no_fetch("edges"),)),
    Trick(
        "no branch per edge",
        "a branch for each edge",
        (
            (
                "  const auto high = ordered_bits(old);\n#if defined(__x86_64__)\n",
                """\
  const auto high = ordered_bits(old);
  if (low < high) {
    __asm__ volatile("" ::: "memory");
    ++n;
    return at;
  }
  return nowhere;
#if defined(__x86_64__)
""",
            ),
        ),
    ),
    Trick(
        "packed edges",
        "separate arrays of targets and weights, and no marks of dead ends",
        (
            ("static constexpr bool packed = true;", "static constexpr bool packed = false;"),
            ("const Stored stored = edges[e];", "const Stored stored{indices[e], weights[e]};"),
            ("{ return edges[e].weight; }", "{ return weights[e]; }"),
        ),
    ),
    Trick(
        "packed edges without a gap",
        "16 bytes per edge with a weight of 64 bits",
        (("struct __attribute__((packed, aligned(4))) PackedEdge {", "struct PackedEdge {"),),
    ),
    Trick(
        "huge pages: edges",
        "an ordinary allocation",
        (("if (bytes >= 2 * kHuge) {", "if (bytes == SIZE_MAX) {"),),
    ),
    Trick(
        "chains",
        "every vertex passes through the bucket",
        (("if (end - begin > kFew) return", "if (end != begin || true) return"),),
    ),
    Trick(
        "light edges",
        "the first width is mean weight / mean degree for any distribution of weights",
        (("if (light < seen) delta = std::min(delta, nth(light));", ""),),
    ),
    Trick(
        "shared rows",
        "a row of any length is processed by one worker",
        (("else if (Update::shared && row_end - row >= kShared)", "else if (false)"),),
        several=True,
    ),
    Trick(
        "delta adapts",
        "the first width is kept",
        (
            ("if (!on_) return 1;", "return 1;"),
            ("return on_ && ((repeated", "return false && ((repeated"),
        ),
    ),
    Trick(
        "stealing by priority",
        "only an idle worker takes work from others",
        (
            (
                "if (take_piece(me, 0, begin) || steal_nearer(me, i, begin)) return true;",
                "if (take_piece(me, 0, begin)) return true;",
            ),
        ),
        several=True,
    ),
    Trick(
        "sharing on demand",
        "all but a few entries are always offered to other workers",
        (
            (
                "if (__atomic_load_n(&hungry, __ATOMIC_RELAXED) != 0) return true;",
                "return true;",
            ),
        ),
        several=True,
    ),
    Trick(
        "halves by vertex",
        "the later half of a bucket is shared",
        (
            (
                "if (end - begin < 2 * kSample) return begin + (end - begin) / 2;",
                "if (end != begin) return begin + (end - begin) / 2;",
            ),
        ),
        several=True,
    ),
    Trick(
        "claimed distances",
        "targets' distances are not claimed ahead, and searches do not compare it",
        ((", way._replace(claim=not way.claim)]", "]"),),
        several=True,
    ),
    Trick(
        "thin buckets widen",
        "buckets widen only while few relaxations are repeated",
        (("constexpr uint64_t kThin = 96; ", "constexpr uint64_t kThin = 0; "),),
        several=True,
    ),
    ALONE,
    OWN_CORE,
)

#: Tricks of prepared graphs, measured by ablation_prepared.py.
PREPARED_TRICKS = (
    NOTHING,
    Trick(
        "few arcs one by one",
        "whole registers for every label's triangles",
        (("constexpr int64_t kFew = 12;", "constexpr int64_t kFew = 0;"),),
    ),
    Trick(
        "walk: registers along separators",
        "arc by arc",
        (("if (depths[j + kRun - 1] - depths[j] == kRun - 1) {", "if (false) {"),),
    ),
    Trick(
        "walk: rows of many arcs by windows",
        "all rows arc by arc and by registers along separators",
        (("static constexpr int kLeast = 8; ", "static constexpr int kLeast = 1 << 30; "),),
    ),
    Trick(
        "walk: stops at its bound",
        "both ends climb to the root",
        (
            ("if (f_there && (!metric.prunes || f < best))", "if (f_there)"),
            ("if (b_there && (!metric.prunes || b < best))", "if (b_there)"),
        ),
    ),
    Trick(
        "paths: origins fetched ahead",
        "an origin is loaded when it is read",
        (("        prefetch(&origin_of(part));\n", ""),),
    ),
    Trick(
        "labels fetched ahead",
        "rows are loaded when they are read",
        (("      prefetch(up + d);\n      prefetch(down + d);\n", ""),),
    ),
    Trick(
        "rows past the caches",
        "ordinary stores",
        (
            (
                "L::stream(row + k * L::kCount, x[k]);",
                "L::store(row + k * L::kCount, x[k]);",
            ),
        ),
    ),
    Trick(
        "table: twice the lanes",
        "one register of sources per sweep",
        (("? 2 * kNarrow : kNarrow;", "? kNarrow : kNarrow;"),),
    ),
    Trick(
        "instruction sets",
        "x86-64-v2 everywhere",
        environment={"NEARFAR_CPU_LEVEL": "v2"},
    ),
)

#: Tricks of breadth-first search.
BREADTH_FIRST_TRICKS = (NOTHING, EIGHTS)

#: Tricks of betweenness, measured by ablation_measures.py.
MEASURE_TRICKS = (
    NOTHING,
    Trick(
        "eight sources at once",
        "one source at a time",
        (("kMostValues = 5;", "kMostValues = 0;"),),
    ),
    Trick(
        "numbers that fall with the degree",
        "breadth-first numbers also in lanes",
        (("    if (for_lanes) number_by_degree(in, out);\n", ""),),
    ),
    Trick(
        "dead ends folded away",
        "every vertex is searched",
        (("        run(true);\n        return;", "        run(false);\n        return;"),),
    ),
    Trick(
        "tight edges by gathers",
        "one edge at a time",
        (
            (
                "#if defined(__AVX512VL__) && defined(__AVX512DQ__)\n  for (std::size_t e",
                "#if 0\n  for (std::size_t e",
            ),
        ),
    ),
    Trick(
        "instruction sets",
        "x86-64-v2 everywhere",
        environment={"NEARFAR_CPU_LEVEL": "v2"},
    ),
)


#: Tricks of rasters on the CPU and on a GPU, measured by ablation_raster.py.
RASTER_TRICKS = (
    NOTHING,
    Trick(
        "few arrivals in place",
        "every visit copies its tile",
        (
            (
                "const bool few = givers.noted();",
                "const bool few = false;",
            ),
        ),
    ),
    Trick(
        "a heap for few arrivals",
        "a copied tile is swept at once",
        (("constexpr std::size_t kFewSeeds = 8;", "constexpr std::size_t kFewSeeds = 0;"),),
    ),
    Trick(
        "sweeps after 512 cells in place",
        "cells in place until the end",
        (
            (
                "constexpr uint64_t kMostInPlace = 512;",
                "constexpr uint64_t kMostInPlace = ~uint64_t{0};",
            ),
        ),
    ),
    Trick(
        "a heap finishes",
        "sweeps until nothing is lowered",
        (("constexpr uint32_t kFewLowered = 256;", "constexpr uint32_t kFewLowered = 0;"),),
    ),
    Trick(
        "only borders that woke it",
        "every cell is first lowered from all its neighbours",
        (
            (
                "    if (source)\n      pull_all();\n",
                "    if (source || sides != 0)\n      pull_all();\n",
            ),
        ),
    ),
    Trick(
        "volumes cell by cell",
        "tiles until the end",
        (("kOften = 1.5;", "kOften = 1e9;"),),
    ),
)
RASTER_CUDA_TRICKS = (
    NOTHING,
    Trick(
        "lines that nothing waits for",
        "a sweep lowers every line",
        (("uint32 next = after(here), fell", "uint32 next = here != 0 ? kAll : 0, fell"),),
    ),
    Trick(
        "faces",
        "every line waits, whichever side lowered the tile",
        (("const bool source = faces & kSource;", "const bool source = faces != 0;"),),
    ),
    Trick(
        "lines in registers",
        "one line at a time",
        (
            (
                "constexpr int kGroup = sizeof(weight_t) == 8 || RULE == 2 ? 4 : 8;",
                "constexpr int kGroup = 1;",
            ),
        ),
    ),
    Trick(
        "windows",
        "all waiting tiles are solved in the next phase",
        (("threshold = add_saturating(first, delta);", "threshold = unreached();"),),
    ),
    Trick(
        "narrow windows",
        "windows sixteen times as full",
        (
            (
                "constexpr uint32 kFew = DIMS == 2 ? 1 : 4;",
                "constexpr uint32 kFew = DIMS == 2 ? 16 : 64;",
            ),
        ),
    ),
    Trick(
        "following a corridor",
        "a phase per tile",
        (("alone && nothing_waits && given <= limit;", "false;"),),
    ),
    Trick(
        "one block per multiprocessor",
        "blocks of four warps",
        (
            ("384 if wide else 512", "128"),
            ('"RESIDENT": 1 if ndim == 2', '"RESIDENT": 4 if ndim == 2'),
        ),
    ),
    Trick(
        "asynchronous copies of costs",
        "ordinary loads",
        (
            (
                "copy_async_value(t.c + at, cost + y * g.columns + x);",
                "t.c[at] = cost[y * g.columns + x];",
            ),
        ),
    ),
)


def find(tree: Path, text: str) -> Path:
    """Return the source file below ``tree`` in which a text occurs exactly once.

    Raises
    ------
    LookupError
        If it occurs in no file, in several files, or more than once.
    """
    found = [
        (path, count)
        for path in sorted(tree.rglob("*"))
        if path.suffix in (".py", ".cpp", ".hpp", ".cuh")
        and (count := path.read_text(encoding="utf-8").count(text))
    ]
    if len(found) != 1 or found[0][1] != 1:
        places = ", ".join(f"{path.name} ({count})" for path, count in found) or "no file"
        raise LookupError(f"expected one place, got {places}: {text!r}")
    return found[0][0]


def copy_sources(tree: Path) -> None:
    """Copy the packages of ``src`` without compiled files."""
    ignore = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "src", tree / "src", ignore=ignore, dirs_exist_ok=True)
    shutil.copy(ROOT / "CMakeLists.txt", tree)


def take_out(trick: Trick, tree: Path) -> set[str]:
    """Apply the edits to a copy of the sources; return the edited files in ``src/nearfar``."""
    package = tree / "src" / "nearfar"
    edited = set()
    for old, new in trick.edits:
        path = find(package, old)
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        edited.add(path.relative_to(package).as_posix())
    return edited


def to_compile(edited: set[str], depends: dict[str, set[str]]) -> list[str]:
    """Return the translation units to recompile after an edit of some files.

    Parameters
    ----------
    edited : set of str
    depends : dict
        Translation unit -> all files that it includes, all relative to ``src/nearfar``.

    Returns
    -------
    list of str
        An edited unit itself; of the units that include an edited header, those of the measured
        family and the one named after the header.

    Raises
    ------
    LookupError
        For C++ that no unit includes.
    """
    stems = {re.sub(r"\.hpp$", "", name) for name in edited}
    units = sorted(
        unit
        for unit, included in depends.items()
        if unit in edited
        or (included & edited and (unit.startswith(FAMILIES) or unit.split(".")[0] in stems))
    )
    if not units and any(name.endswith((".cpp", ".hpp")) for name in edited):
        raise LookupError(f"expected something to compile after an edit of {sorted(edited)}")
    return units


def run(words: list[str], folder: Path) -> str:
    """Run a program, found next to the interpreter first, and return its output."""
    around = dict(os.environ)
    around["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{around['PATH']}"
    done = subprocess.run(words, cwd=folder, env=around, capture_output=True, text=True)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        raise SystemExit(f"{shlex.join(words)[:200]} failed in {folder}:\n{said}")
    return done.stdout


class Builds:
    """Builds of the package, unchanged and without each trick, below one folder.

    Parameters
    ----------
    folder : Path
        Existing builds in it are updated.
    level : str
        Instruction set of this processor; code for other sets is not recompiled.
    """

    def __init__(self, folder: Path, level: str) -> None:
        self.folder = folder
        self.level = level
        self.base = folder / "base"
        self.jobs = len(os.sched_getaffinity(0))

    def make(self, tricks: list[Trick]) -> dict[str, Path]:
        """Build the package without each trick; return the folder to import it from, by name."""
        self._make_base()
        commands, depends = self._units()
        trees: dict[str, Path] = {}
        work: dict[str, list[str]] = {}
        for trick in tricks:
            tree = self.folder / trick.folder
            shutil.rmtree(tree, ignore_errors=True)
            copy_sources(tree)
            edited = take_out(trick, tree)
            work[trick.name] = to_compile(edited, depends)
            trees[trick.name] = tree
            if not work[trick.name]:
                shutil.copy(self._module(), tree / "src" / "nearfar")
        with ThreadPoolExecutor(self.jobs) as pool:
            done = [
                pool.submit(self._compile, commands[unit], trees[name], unit)
                for name, units in work.items()
                for unit in units
            ]
            for one in done:
                one.result()
        for name, units in work.items():
            if units:
                self._link(trees[name], {commands[unit]["output"]: unit for unit in units})
        return {name: tree / "src" for name, tree in trees.items()}

    def _make_base(self) -> None:
        copy_sources(self.base)
        configure = [
            *("cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
            *(f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
            "-DNEARFAR_LEVELS=all",
        ]
        run(configure, self.base)
        build = ["cmake", "--build", "build", "--target", "_cpu", "--parallel", str(self.jobs)]
        run(build, self.base)

    def _module(self) -> Path:
        return next((self.base / "build").glob("_cpu*.so"))

    def _units(self) -> tuple[dict[str, dict[str, str]], dict[str, set[str]]]:
        """Return the compile command and the included files of the package, by translation unit."""
        build, package = self.base / "build", (self.base / "src" / "nearfar").resolve()

        def relative(name: str) -> str | None:
            path = (build / name).resolve()
            return path.relative_to(package).as_posix() if path.is_relative_to(package) else None

        commands: dict[str, dict[str, str]] = {}
        for one in json.loads((build / "compile_commands.json").read_text()):
            unit = relative(one["file"])
            if unit is None:
                continue
            level = re.search(r"simd_(\w+)\.dir", one["output"])
            if level is None or level[1] == self.level:
                # Relative to the build folder, as in Ninja's files; CMake may give an absolute
                # path.
                output = (build / one["output"]).relative_to(build).as_posix()
                commands[unit] = {**one, "output": output}
        units = {one["output"]: unit for unit, one in commands.items()}
        depends: dict[str, set[str]] = {}
        unit = None
        for line in run(["ninja", "-t", "deps"], build).splitlines():
            if line and not line[0].isspace():
                unit = units.get(line.split(":")[0])
            elif line and unit is not None and (name := relative(line.strip())):
                depends.setdefault(unit, set()).add(name)
        return commands, depends

    def _compile(self, command: dict[str, str], tree: Path, unit: str) -> None:
        target = self._object(tree, unit)
        target.parent.mkdir(parents=True, exist_ok=True)
        words = shlex.split(command["command"].replace(str(self.base), str(tree)))
        words[words.index("-o") + 1] = str(target)
        run([*words, "-w"], self.base / "build")

    def _object(self, tree: Path, unit: str) -> Path:
        return tree / "objects" / f"{unit}.o"

    def _link(self, tree: Path, units: dict[str, str]) -> None:
        """Link the base module with some objects replaced."""
        build = self.base / "build"
        last = run(["ninja", "-t", "commands", "_cpu"], build).splitlines()[-1]
        # CMake puts ": && " before a link command, and further commands such as stubs after it.
        link = last.removeprefix(": && ").partition(" && ")[0]
        words = [
            str(self._object(tree, units[word])) if word in units else word
            for word in shlex.split(link)
        ]
        target = tree / "src" / "nearfar" / self._module().name
        words[words.index("-o") + 1] = str(target)
        run(words, build)
        if target.read_bytes() == self._module().read_bytes():
            raise SystemExit(f"{tree.name}: the edit changed nothing in the compiled module")
