"""Structs of kernel files as NumPy dtypes, compared with the compiler's layout."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.system.devices import compiler, structs
from nearfar.system.devices.structs import enum_names, filled, struct_dtype
from tests.system.test_cuda_compile import types

STATE = "papers/davidson_2014/near_far/state.cuh"
ROWS = "algorithms/near_far/one_launch/one_launch_rows.cuh"
SEARCH = "algorithms/breadth_first/search_state.cuh"
POLICY = {"FAR": 1, "HYBRID": 1, "BUCKETS": 1, "OWNERS": 1, "GATHER": 1, "STATS": 1}
TIGHT = {"PULL": 0, "SORTED": 0, "SIGNED": 0, "COUNTED": 1, "SEGMENT": 512}
# Every struct that the host reads or writes: file, names, macros, names resolved only by C++.
SHARED = [
    (STATE, ("Control", "Frame", "Record"), POLICY, {}),
    (ROWS, ("Control", "Solve", "Record", "Entry", "Chunk"), {}, {"Distances": "u8"}),
    (SEARCH, ("Control", "Search", "Record", "Chunk", "AheadEntry", "Tally"), {}, {}),
    ("cuda/graph/scan_graph.cuh", ("GraphPart",), {}, {}),
    ("cuda/distances/tight_edges.cuh", ("Tally", "LevelControl", "Piece"), TIGHT, {}),
    ("cuda/loops/settle.cuh", ("SettleCounts",), {}, {}),
]


@pytest.mark.parametrize("kind", ["int32", "float64-wide", "int64"])
@pytest.mark.parametrize(("file", "names", "more", "named"), SHARED, ids=lambda v: str(v)[:40])
def test_the_compiler_lays_them_out_alike(
    file: str, names: tuple[str, ...], more: dict[str, int], named: dict[str, str], kind: str
) -> None:
    macros = {**types(kind), **more}
    if file == "cuda/graph/scan_graph.cuh":
        macros["SOURCE_T"] = macros["INDEX_T"]
        named = {"wide_t": "f8" if kind.startswith("float") else "i8"}
    claims = []
    for name in names:
        found = struct_dtype(file, name, macros, **named)
        assert found.fields is not None
        claims.append(f"static_assert(sizeof({name}) == {found.itemsize});")
        for field, (element, offset) in ((f, v[:2]) for f, v in found.fields.items()):
            claims.append(f"static_assert(__builtin_offsetof({name}, {field}) == {offset});")
            claims.append(f"static_assert(sizeof({name}::{field}) == {element.itemsize});")
    source = compiler.assemble([file]) + "\n".join(claims)
    compiler.compile_kernel(file, source, compiler.options_for("sm_90", macros, source))


def test_enums_count_through_their_names() -> None:
    assert enum_names(ROWS, "StepKind") == ("split", "grid", "local", "rescan", "pull")
    assert enum_names(SEARCH, "StepKind")[0] == "push"
    with pytest.raises(ValueError, match="no enum"):
        enum_names(SEARCH, "Nothing")


def test_the_settle_loop_finds_its_counters() -> None:
    names = struct_dtype("cuda/loops/settle.cuh", "SettleCounts").names or ()
    assert names[:3] == ("settled", "working", "edges")
    assert len(names) == 4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("int a; int b() const;", "not plain"),
        ("int a = 0;", "not plain"),
        ("template_t<int> a;", "not plain"),
        ("unknown_t a;", "no struct unknown_t"),
    ],
)
def test_what_is_not_understood_is_refused(
    body: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structs, "kernel_text", lambda files: f"struct Odd {{ {body} }};")
    with pytest.raises(ValueError, match=said):
        struct_dtype(f"odd-{body}.cuh", "Odd")


def test_a_struct_is_filled_by_name_and_whole() -> None:
    kind = np.dtype([("n", "i8"), ("arrays", "u8", 2)])
    value = filled(kind, n=-1, arrays=[None, 7])
    assert value.tobytes() == np.array([-1, 0, 7], dtype=np.int64).tobytes()
    with pytest.raises(TypeError, match="arrays"):
        filled(kind, n=1)
    with pytest.raises(TypeError, match="more"):
        filled(kind, n=1, arrays=[0, 0], more=2)
