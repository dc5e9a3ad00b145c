"""Pages of the Python names: signatures and docstrings as Markdown.

A docstring is numpydoc; its sections become paragraphs and lists. A heading that numpydoc does not
define is an error instead of being dropped.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import nearfar
from nearfar import errors

__all__ = [
    "GROUPS",
    "MODULES",
    "PAGES",
    "SHARED",
    "SOLVERS",
    "index_page",
    "members",
    "sections",
    "topic_page",
]

# Heading, a sentence, and its names below `nearfar.`.
GROUPS: list[tuple[str, str, list[str]]] = [
    (
        "One source",
        "A graph may be a `Graph`, a SciPy sparse matrix or a NetworkX graph.",
        ["sssp", "shortest_path", "isochrone", "explain", "verify"],
    ),
    (
        "Many sources",
        "Answers go to an array, a file, a sparse matrix or a reduction, block by block.",
        [
            *("distances", "all_pairs", "nearest", "solve.Nearest", "catchment", "isochrones"),
            *("solve.Reduction", "solve.read_rows"),
        ],
    ),
    (
        "Places",
        "Coordinates in frames, GeoSeries, arrays and pairs; "
        "[Answer questions about places](../how-to/answer-questions-about-places.md) has "
        "examples.",
        [
            *("table", "solve.places.table.BothTables", "nearest_places"),
            *("solve.places.nearest.NearestPlaces", "route", "routes", "Route", "accessibility"),
            *("graph.snapping.snap.Snapped", "prepared.scenario.Scenario"),
        ],
    ),
    (
        "Other questions",
        "",
        [
            "k_shortest_paths",
            "find_negative_cycle",
            "solve.NegativeCycle",
            "solve.potentials",
            "answer.certify",
        ],
    ),
    (
        "Measures",
        "[Measures on shortest paths](../explanation/measures.md) explains how they are computed.",
        [
            *("measures.betweenness", "measures.path_counts", "measures.PathCounts"),
            *("measures.shortest_path_dag", "measures.ShortestPathDag"),
            *("measures.all_shortest_paths", "measures.AllShortestPaths"),
            *("measures.closeness", "measures.harmonic", "measures.average_length"),
            *("measures.efficiency", "measures.eccentricity", "measures.diameter"),
            *("measures.radius", "measures.center", "measures.periphery"),
            *("measures.edge_loads", "measures.EdgeLoads", "measures.skims", "measures.Skims"),
            "measures.table",
            *("measures.assign", "measures.Assignment", "measures.AssignmentStep"),
            *("measures.UserClass", "measures.Bpr", "measures.LinkCosts"),
        ],
    ),
    (
        "Graphs",
        "",
        ["Graph"],
    ),
    (
        "Files and generators",
        "`nearfar.generators` also has every family as a function of its name; `nearfar generate` "
        "in\n[Command line](command-line.md#nearfar-generate) lists their parameters. "
        "[File formats](file-formats.md) lists\nthe formats and their options.",
        [
            *("read", "write", "generate", "formats.formats", "formats.detect"),
            *("formats.read_traffic", "formats.Traffic", "formats.read_trips"),
            "formats.read_flows",
        ],
    ),
    (
        "Prepared graphs",
        "Preparing takes seconds once; a query then takes microseconds. A function that accepts a "
        "`Graph` also accepts a `Prepared`.\n[Prepare a graph](../how-to/prepare-a-graph.md) has "
        "examples.",
        [
            *("prepare", "load", "Prepared", "prepared.cpu.labels.TreeLabels"),
            *("prepared.cuda.pairs.pairs.DeviceLabels", "prepared.cpu.pairs.PairPaths"),
            *("prepared.prepare.foreseen", "prepared.order.tree.Figures"),
        ],
    ),
    ("Answers", "", ["Paths", "answer.FlatPaths"]),
    (
        "Turn costs",
        "`Graph.with_turns` makes them; `sssp`, `shortest_path` and `distances` take them.",
        ["graph.turns.TurnGraph", "prepared.turns.PreparedTurns", "answer.turn_paths.TurnPaths"],
    ),
    (
        "Clusters",
        "Rows over machines: [Use a Dask cluster](../how-to/use-a-cluster.md).",
        ["scale.distances", "scale.connect"],
    ),
    (
        "Rasters and volumes",
        "[Cost surfaces over rasters](../how-to/rasters.md) has examples. "
        "`nearfar.raster.interfaces` has the functions\nof scikit-image, xarray-spatial and "
        "dijkstra3d, with the parameters of these libraries; options that it\ncannot serve raise "
        "`OptionError`.",
        [
            *("raster.cost_distance", "raster.cost_distances", "raster.corridor"),
            *("raster.least_cost_paths", "raster.path_cost", "raster.map_array"),
            *("raster.Raster", "raster.Surface", "raster.SlopeTable", "raster.hiking"),
            *("raster.read_raster", "raster.write_raster", "raster.draw_surface"),
            *("raster.landscape", "raster.interfaces.MCP", "raster.interfaces.MCP_Geometric"),
            *("raster.interfaces.route_through_array", "raster.interfaces.cost_distance"),
            *("raster.interfaces.distance_field", "raster.interfaces.dijkstra"),
            *("raster.interfaces.parental_field", "raster.interfaces.path_from_parents"),
        ],
    ),
    (
        "SciPy's functions",
        "The same calls as in `scipy.sparse.csgraph` "
        "([Coming from SciPy](../how-to/coming-from-scipy.md)). By\nkeyword they also take "
        '`device` ("auto", "cpu", "cuda"), `threads` (CPU workers, None for all cores) and\n'
        "`method_variant` (a name from [Methods](methods.md)). SciPy's documentation has the rest.",
        [
            f"csgraph.{name}"
            for name in (
                *("shortest_path", "dijkstra", "bellman_ford", "johnson", "floyd_warshall"),
                *("yen", "construct_dist_matrix", "reconstruct_path"),
            )
        ],
    ),
    (
        "scikit-learn",
        "Estimators with scikit-learn's conventions; `pip install 'nearfar[sklearn]'`.",
        ["sklearn.Isomap", "sklearn.GeodesicKNeighborsTransformer"],
    ),
    (
        "PyTorch and PyTorch Geometric",
        "Arguments and layout are PyTorch Geometric's; results are tensors on the input's device.",
        ["torch.shortest_path_distances"],
    ),
    (
        "Choosing, tuning, describing",
        "The command line's `--explain`, `tune`, `info`, `--profile`, `sweep` and `plot`.",
        [
            *("choose.explain", "choose.Explanation", "choose.Choice"),
            *("choose.rank", "choose.best", "choose.calibrate.calibrate"),
            *("cuda.tune.tune", "cuda.tune.TuneResult", "cuda.tune.tunable"),
            *("measures.describe", "measures.GraphStatistics", "measures.Reach"),
            *("lab.profile.profile", "lab.profile.delta_sweep", "lab.profile.dijkstra_edges"),
            *("lab.profile.write_profile", "lab.profile.read_profile"),
            *("lab.profile.plot_profile", "lab.profile.plot_delta_sweep"),
        ],
    ),
    (
        "Maps, experiments and reports",
        "",
        [
            *(
                "answer.draw_isochrones",
                "answer.draw_page",
                "answer.isochrones",
                "answer.routes",
                "answer.write_geography",
                "lab.experiments.run",
                "lab.experiments.experiments",
            ),
            *("lab.experiments.find", "lab.report.write_report", "lab.report.report_html"),
        ],
    ),
    (
        "The GPU",
        "",
        [
            *("cuda.kernel_times.kernel_times", "cuda.kernel_times.KernelTimes"),
            *("cuda.kernel_times.KernelTime", "cuda.device_graph.upload_bytes"),
        ],
    ),
]
#: Pages by their stems: title, and the headings of :data:`GROUPS` on each.
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "python-graphs": ("graphs and turn costs", ("Graphs", "Turn costs")),
    "python-searches": ("one source", ("One source", "Answers", "Other questions")),
    "python-many-sources": ("many sources", ("Many sources", "Clusters")),
    "python-prepared": ("prepared graphs", ("Prepared graphs",)),
    "python-places": ("places", ("Places",)),
    "python-rasters": ("rasters and volumes", ("Rasters and volumes",)),
    "python-measures": ("measures", ("Measures",)),
    "python-files": ("files and generators", ("Files and generators",)),
    "python-interfaces": (
        "interfaces of other libraries",
        ("SciPy's functions", "scikit-learn", "PyTorch and PyTorch Geometric"),
    ),
    "python-tools": (
        "tuning, maps, experiments and the GPU",
        ("Choosing, tuning, describing", "Maps, experiments and reports", "The GPU"),
    ),
}
#: Functions that solve; shared parameters have the same names and order in all of them.
SOLVERS = (
    *("sssp", "distances", "all_pairs", "shortest_path"),
    *("k_shortest_paths", "nearest", "isochrone"),
)
#: Shared keyword-only parameters in order; further parameters of a function follow.
SHARED = (
    *("weight", "method", "device", "threads", "limit"),
    *("targets", "predecessors", "stats", "progress"),
)
#: Common meanings of parameters. Pages leave out parameters that have no other meaning.
COMMON: dict[str, str] = {
    "graph": "`Graph`, SciPy sparse matrix or NetworkX graph (`graph_like`)",
    "source, target, vertex": "index, or external name if the graph has names",
    "sources, targets, vertices": "several of these; None means every vertex",
    "weight": "edge attribute of a NetworkX graph; None counts edges",
    "method": '`"auto"`, an idea, a family or an id of [Methods](methods.md)',
    "device": '`"auto"`, `"cpu"` or `"cuda"`',
    "threads": "CPU workers; None uses all cores",
    "limit": "inclusive limit of distances; vertices beyond it are unreached",
    "stats": "dict that is filled with counters and seconds",
    "progress": "called with the numbers of finished and of all sources",
    "seed": "seed of a random draw; None draws differently in each call",
}
#: Names of :data:`COMMON`, and descriptions that add nothing to it.
_COMMON_NAMES = frozenset(name for names in COMMON for name in names.split(", ")) | {
    *("u", "v", "targets", "predecessors", "**options"),
}
_SAID = re.compile(
    r"|As (for|of) `[\w.]+`\.|Graph with non-negative weights\.|None uses all cores\."
    r"|Called with the numbers of finished (sources|rows) and of all (sources|rows)\."
    r"|Seed of the draw; None gives a different draw in each call\."
    r"|Vertices of the result, in this order; None means every vertex\."
)
_PLAIN = ("", "Graph", "graph_like", "graph_like or TurnGraph", "int or vertex name", "str or path")
#: Public modules whose names the page lists; those of the NetworkX backend are NetworkX's protocol.
MODULES = tuple(f"nearfar.{name}" for name in nearfar._PUBLIC if name != "networkx")
ENTRIES = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
PROSE = ("Notes", "Examples", "References", "See Also")


#: Base classes that contain parts of Graph.
_PARTS = ("Vertices", "Exchange")
#: Names whose parameters belong to another library or a command, or that few
#: users need: only a summary is shown.
_BRIEF = (
    *("csgraph.", "lab.", "raster.interfaces.", "cuda.", "prepared.cuda."),
    *("choose.rank", "choose.best", "choose.calibrate.", "prepared.cpu.labels."),
)
#: Prefixes of names whose signatures are those of another library.
_THEIRS = ("csgraph.", "raster.interfaces.")
#: Members without an underscore that are for use within the package only.
_INTERNAL = frozenset(
    (
        *("Graph.device_arrays", "Graph.first_negative", "Graph.has_transpose", "Graph.has_view"),
        *("Graph.from_checked", "Graph.rows_of", "Graph.tight_form", "Graph.view"),
        *("Graph.weight_sample", "Graph.widest_vertex", "Prepared.adds_floats"),
        *("Prepared.answer_dtype", "Prepared.beyond_arcs", "Prepared.fitting"),
        *("Prepared.metric_view", "Prepared.summed", "Prepared.summing", "Prepared.tight_form"),
        *("Raster.describe", "Raster.is_barrier", "SlopeTable.in_dtype"),
        *("Surface.as_floats", "TreeLabels.between", "TurnGraph.first_negative"),
        *("TurnGraph.indices_of", "TurnGraph.n_negative", "TurnGraph.name_of"),
        *("TurnGraph.of_edges", "TurnGraph.searched_weights", "TurnGraph.to_edges"),
        *("TurnGraph.weight_dtype",),
    )
)


def public(name: str) -> Any:
    """Return the object of a name below ``nearfar.``."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"nearfar.{module}" if module else "nearfar"), attribute)


def members(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return the public methods of a class in source order, constructors first.

    Methods of a base without its own place in the reference are included.
    """
    parts = [base for base in cls.__bases__ if base.__name__ in _PARTS]
    for name, value in (pair for part in (cls, *parts) for pair in vars(part).items()):
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(plain):
            yield name, plain


def properties(cls: type) -> Iterator[str]:
    """Return the public properties of a class as a bulleted list under a heading."""
    found = [
        (name, inspect.getdoc(value) or "")
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and isinstance(value, property | cached_property)
        and f"{cls.__name__}.{name}" not in _INTERNAL
    ]
    if found:
        yield "**Properties**"
        yield ""
        for name, text in found:
            yield f"- `{name}`: {markdown(' '.join(text.split()))}"
        yield ""


def sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section of a docstring; those before the first have the key ``""``.

    Raises
    ------
    SystemExit
        For an underlined heading that numpydoc does not define.
    """
    found: dict[str, list[str]] = {"": []}
    now = ""
    lines = text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line and re.fullmatch(r"-{3,}", below):
            if line not in ENTRIES + PROSE:
                raise SystemExit(f"docstring with a section {line!r}: use numpydoc's names")
            now = line
            found[now] = []
        elif not re.fullmatch(r"-{3,}", line):
            found[now].append(line)
    return found


def markdown(text: str) -> str:
    """Convert reference roles and double backticks to code spans."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def entries(lines: list[str]) -> Iterator[str]:
    """Convert a definition list to a bulleted list."""
    head, told = "", []
    for line in [*lines, ""]:
        if line.startswith("    "):
            told.append(line.strip())
        elif line:
            if head:
                yield item(head, told)
            head, told = line, []
    if head:
        yield item(head, told)


def item(head: str, told: list[str]) -> str:
    """Return one name with its type and description."""
    if head.endswith("."):
        raise SystemExit(f"{head!r}: put the sentence on the next line, indented")
    name, colon, kind = head.partition(" : ")
    kind = f" ({markdown(kind)})" if colon else ""
    text = markdown(" ".join(told))
    return f"- `{name}`{kind}" + (f": {text}" if text else "")


def described(obj: Any, *, brief: bool = False) -> Iterator[str]:
    """Yield a docstring as Markdown, with ``brief`` only its first paragraph.

    Errors are only named: the index has the meaning of each, and ``help`` the conditions.
    """
    for title, lines in sections(inspect.getdoc(obj) or "").items():
        if brief and title:
            return
        if title == "Raises":
            names = ", ".join(line for line in lines if line and not line.startswith(" "))
            yield from (f"**Raises** {', '.join(f'`{name}`' for name in names.split(', '))}", "")
        elif title in ENTRIES:
            shown = list(entries(lines))
            if title == "Parameters":
                shown = [line for line in shown if not _is_common(line)]
                if not shown:
                    continue
            if title in ("Returns", "Yields") and len(shown) == 1:
                yield from (f"**{title}** {shown[0].removeprefix('- ')}", "")
            else:
                yield from (f"**{title}**", "", *shown, "")
        elif title == "Examples":
            yield "```python"
            yield from (line for line in lines if line and line != ">>> import nearfar")
            yield "```"
            yield ""
        else:
            text = markdown("\n".join(lines).strip())
            yield text.partition("\n\n")[0] if brief else text
            yield ""


def _is_common(line: str) -> bool:
    """Return whether an entry of a list adds nothing to :data:`COMMON`."""
    found = re.fullmatch(r"- `([^`]+)`(?: \((.*?)\))?(?:: (.*))?", line)
    if not found or not set(found[1].split(", ")) <= _COMMON_NAMES:
        return False
    said = found[3] or ""
    return bool(_SAID.fullmatch(said)) and (bool(said) or (found[2] or "") in _PLAIN)


def signature(name: str, obj: Any) -> Iterator[str]:
    """Return the call, with one parameter per line if it is long."""
    found = inspect.signature(obj)
    kept = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    plain = found.replace(
        parameters=[p.replace(annotation=p.empty) for p in kept],
        return_annotation=inspect.Signature.empty,
    )
    text = f"{name}{plain}"
    if len(text) > 96:
        inside = ",\n    ".join(shown(plain))
        text = f"{name}(\n    {inside},\n)"
    # The text of a function as default contains its address, which changes between runs.
    text = re.sub(r"<function .*? at 0x[0-9a-f]+>", "...", text)
    yield from ("```python", text, "```", "") if "\n" in text else (f"`{text}`", "")


def shown(plain: inspect.Signature) -> Iterator[str]:
    """Return parameters as written, with the bare star before keyword-only ones."""
    starred = False
    for parameter in plain.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(parameter)


def exceptions() -> Iterator[str]:
    """Return a table of the exceptions."""
    yield "Every exception is a `nearfar.NearfarError`, available as `nearfar.NAME`."
    yield ""
    yield "| exception | also a | when |"
    yield "|---|---|---|"
    for name in errors.__all__:
        cls = getattr(errors, name)
        if not inspect.isclass(cls):
            continue
        also = ", ".join(
            f"`{base.__name__}`" for base in cls.__bases__ if base.__module__ != errors.__name__
        )
        summary = markdown((inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " "))
        yield f"| `{name}` | {also} | {summary} |"


def solver_table() -> Iterator[str]:
    """Yield a table of functions by shared parameters, with defaults from the signatures."""
    yield "| | positional | " + " | ".join(f"`{name}`" for name in SHARED) + " | of its own |"
    yield "|---" * (len(SHARED) + 3) + "|"
    for solver in SOLVERS:
        found = inspect.signature(public(solver)).parameters.values()
        by_name = {p.name: p for p in found if p.kind is p.KEYWORD_ONLY}
        first = ", ".join(f"`{p.name}`" for p in found if p.kind is p.POSITIONAL_OR_KEYWORD)
        defaults = [f"`{by_name[name].default!r}`" if name in by_name else "" for name in SHARED]
        own = [f"`{name}`" for name in by_name if name not in SHARED]
        own += ["options"] * any(p.kind is p.VAR_KEYWORD for p in found)
        yield f"| `{solver}` | {first} | " + " | ".join(defaults) + f" | {', '.join(own)} |"


def index_page(notice: str) -> str:
    """Return the page that lists the other pages, the common parameters, and the errors."""
    lines = ["# Python", "", notice, ""]
    lines += [
        "Distances have the dtype of the weights and their unit. Options of a method are keywords",
        "of the call; [Methods](methods.md) lists them. `nearfar.csgraph` has SciPy's functions",
        "under SciPy's signatures ([Coming from SciPy](../how-to/coming-from-scipy.md)), and the",
        "NetworkX backend NetworkX's ([Coming from NetworkX](../how-to/coming-from-networkx.md)).",
        "[Which function do I want?](../how-to/which-function.md) answers by question.",
        "",
        "The names on these pages are public. Every other module and name is private and may",
        "change in any release. `help(nearfar.sssp)` also says when each error is raised. A",
        "`graph_like` is a `Graph`, a SciPy sparse matrix or a NetworkX graph.",
        "",
        "| page | names |",
        "|---|---|",
    ]
    for stem, (title, headings) in PAGES.items():
        names = [name for heading, _, some in GROUPS if heading in headings for name in some]
        links = ", ".join(f"[`{name}`]({stem}.md#nearfar{_anchor(name)})" for name in names)
        lines.append(f"| [{title[:1].upper()}{title[1:]}]({stem}.md) | {links} |")
    lines += [
        "",
        "## Common parameters",
        "",
        "A parameter has the same name, default and meaning in every function, so the pages",
        "leave out those with no other meaning than here. All but the first ones are given by",
        "keyword; options of the method follow as further keywords. Where `NegativeWeightError` is",
        "listed, weights must not be negative. Examples start with `import nearfar`.",
        "",
        *(f"- `{names}`: {meaning}." for names, meaning in COMMON.items()),
        "",
        *solver_table(),
    ]
    lines += ["", "## Errors", "", *exceptions()]
    return "\n".join(lines) + "\n"


def _anchor(name: str) -> str:
    """Return the anchor of a name: lower case, without dots."""
    return name.replace(".", "").lower()


def topic_page(stem: str, notice: str) -> str:
    """Return a page of :data:`PAGES`."""
    title, headings = PAGES[stem]
    lines = [f"# Python: {title}", "", notice]
    groups = {heading: (said, names) for heading, said, names in GROUPS}
    for heading in headings:
        said, names = groups[heading]
        lines += ["", f"## {heading}", ""]
        lines += [said, ""] if said else []
        for name in names:
            lines += _entry(name)
    text = "\n".join(lines)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _entry(name: str) -> Iterator[str]:
    """Yield a name's signature and docstring, and those of a class's methods."""
    obj = public(name)
    brief = name.startswith(_BRIEF)
    yield from (f"### nearfar.{name}", "")
    found = sections(inspect.getdoc(obj) or "")
    called = not inspect.isclass(obj) or "Parameters" in found or "Attributes" not in found
    if called and not name.startswith(_THEIRS):
        yield from signature(f"nearfar.{name}", obj)
    yield from described(obj, brief=brief)
    if not inspect.isclass(obj):
        return
    yield from properties(obj)
    for method, function in members(obj):
        if f"{obj.__name__}.{method}" not in _INTERNAL:
            call = list(signature(f"{obj.__name__}.{method}", function))
            alone = call[0] == f"`{obj.__name__}.{method}()`"
            yield from (f"#### {obj.__name__}.{method}{'()' if alone else ''}", "")
            yield from () if alone else call
            yield from described(function, brief=brief)
