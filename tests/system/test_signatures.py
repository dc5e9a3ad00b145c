"""Kernel arguments by name: read from the kernel's text, and checked before a launch."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nearfar.system.devices import compiler, runtime
from nearfar.system.devices.signatures import parameters
from nearfar.system.devices.structs import c_dtype, kernel_text
from tests.system.test_cuda_compile import TYPES, cases, types

ENTRY = re.compile(r"__global__[^;{]*?\b(\w+)\s*\((?=[^()]*\)\s*\{)")
ROWS = "prepared/cuda/sinks/rows.cuh"
MACROS: dict[str, str | int] = {"VALUE_T": "unsigned int", "OUT_T": "int", "SIGNED_VALUES": 0}


@pytest.mark.parametrize("kind", TYPES)
def test_the_types_of_every_parameter_are_known(kind: str) -> None:
    """Except structs, which are passed as bytes, and types that a template chooses."""
    unknown, kernels = set(), 0
    for file, macros in cases(kind):
        for name in ENTRY.findall(kernel_text((file,))):
            found = parameters((file,), name, macros)
            assert found
            kernels += 1
            for parameter in found.values():
                base = parameter.c_type.rstrip("*")
                struct = re.search(rf"\bstruct [^;{{]*\b{base}\b", kernel_text((file,)))
                if parameter.codes is None and base != "void" and not struct:
                    unknown.add(str(parameter))
    assert unknown == {"wide_t greatest"}
    assert kernels > 100


BRANCHES = [
    ("prepared/cuda/sinks/halves.cuh", "entry_t", {"KIND": 0}),
    ("prepared/cuda/sinks/halves.cuh", "entry_t", {"KIND": 2}),
    ("prepared/cuda/sinks/place_figures.cuh", "top_t", {"WHOLE": 0, "DOUBLES": 0}),
    ("prepared/cuda/sinks/place_figures.cuh", "top_t", {"WHOLE": 1, "DOUBLES": 0}),
    *(
        ("algorithms/batched/block_per_source.cuh", "value_t", {"SLOT_BITS": bits})
        for bits in (16, 32, 64)
    ),
]


@pytest.mark.parametrize(("file", "name", "own"), BRANCHES)
def test_the_compiler_takes_the_same_branches(file: str, name: str, own: dict[str, int]) -> None:
    shape = {"FLOATING": 0, "BLOCK_THREADS": 256, "BLOCKS_EACH": 1, "THICK_WORDS": 8, "LISTS": 0}
    macros = {**MACROS, **types("int32"), **(shape if "SLOT_BITS" in own else {}), **own}
    found = c_dtype((file,), name, macros)
    assert found is not None
    source = compiler.assemble([file]) + (
        f"static_assert(sizeof({name}) == {found.itemsize});"
        f"static_assert((static_cast<{name}>(1) / 2 > 0) == {int(found.kind == 'f')});"
    )
    compiler.compile_kernel(file, source, compiler.options_for("sm_90", macros, source))


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="has no kernel to_columns"):
        parameters((ROWS,), "to_columns", MACROS)


@pytest.mark.usefixtures("emulated_gpu")
def test_wrong_arguments_are_refused_before_a_launch() -> None:
    cp = runtime.cupy()
    kernel = runtime.program(ROWS, MACROS).kernel("to_rows")
    right = {
        "values": cp.arange(6, dtype=np.uint32).reshape(2, 3),
        "pitch": np.int64(3),
        "place": cp.arange(2, dtype=np.int32),
        "some": np.int32(2),
        "width": np.int64(2),
        "count": np.int32(3),
        "out": cp.zeros((3, 2), np.int32),
        "step": np.float64(1),
    }
    assert list(kernel.parameters) == list(right)
    launch = runtime.Launch(kernel, (2, 1), 256, right)
    launch()
    assert right["out"].get().tolist() == [[0, 3], [1, 4], [2, 5]]
    wrong = [
        ({"step": None}, "double step does not accept None"),
        ({"some": np.int64(2)}, "int some does not accept a value of int64"),
        ({"some": 2}, "int some does not accept a int: give"),
        ({"values": right["values"].astype(np.uint64)}, "value_t. values .* array of uint64"),
        ({"values": right["values"].astype(np.float32)}, "value_t. values .* array of float32"),
        ({"place": np.arange(2, dtype=np.int32)}, "place does not accept a value of int32"),
        ({"count": right["place"]}, "count does not accept a device array of int32"),
    ]
    for change, said in wrong:
        with pytest.raises(TypeError, match=f"kernel to_rows: .*{said}"):
            runtime.Launch(kernel, (2, 1), 256, {**right, **change})
        with pytest.raises(TypeError, match=said):
            launch.set(**change)
    with pytest.raises(TypeError, match="kernel to_rows needs step and has no steps"):
        kernel((2, 1), 256, {name if name != "step" else "steps": right[name] for name in right})
    with pytest.raises(TypeError, match="to_rows has no sources"):
        launch.set(sources=None)


@pytest.mark.usefixtures("emulated_gpu")
def test_arguments_are_replaced_by_name() -> None:
    cp = runtime.cupy()
    kernel = runtime.program(ROWS, MACROS).kernel("to_rows")
    out = cp.zeros((2, 2), np.int32)
    launch = runtime.Launch(kernel, (2, 1), 256, {
        "values": None, "pitch": np.int64(2), "place": cp.arange(2, dtype=np.int32),
        "some": np.int32(2), "width": np.int64(2), "count": np.int32(2), "out": None,
        "step": np.float64(1),
    })  # fmt: skip
    launch.set(values=cp.arange(4, dtype=np.uint32).reshape(2, 2), out=out)
    launch()
    assert out.get().tolist() == [[0, 2], [1, 3]]
    # An address is accepted for an array; the caller must keep its memory.
    other = cp.zeros((2, 2), np.int32)
    launch.set(out=np.uint64(other.data.ptr), count=np.int32(1))
    launch()
    assert other.get().tolist() == [[0, 2], [0, 0]]
