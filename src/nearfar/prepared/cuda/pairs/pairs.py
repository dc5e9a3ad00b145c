"""Point queries in batches on a CUDA device: walks, and tree labels on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError, OutOfMemoryError, VariantUnavailable, VertexError, keyword
from nearfar.graph.slots import Slot
from nearfar.prepared.cpu.labels import label_bytes, label_offsets
from nearfar.prepared.cpu.pairs import pair_distances, pair_indices, widened
from nearfar.prepared.cuda.device import DeviceTree, device_tree, nodes
from nearfar.prepared.cuda.shapes import shared_room
from nearfar.prepared.metric.arc_weights import QueryArcs
from nearfar.system.devices import runtime, several
from nearfar.system.memory import bytes_left
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared, Sums

_WALKS: Slot[Walks] = Slot("walks on the device")
_LEAST_SHARE = 1 << 14  # minimum number of pairs per device


@dataclass(frozen=True)
class Walks:
    """Data for walks in addition to the tree; arrays of ``pairs.cuh``."""

    tree: DeviceTree
    spine: Any  # int32 array, shape (n, 4)
    # up, down: tuples of arrays; nodes, depths and weights of the arcs; the same tuple where both
    # directions weigh the same
    up: tuple[Any, Any, Any]
    down: tuple[Any, Any, Any]
    program: Any

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of every kernel that walks from both ends."""
        names = (
            f"{side}_{part}" for side in ("up", "down") for part in ("node", "depth", "weight")
        )
        sides = dict(zip(names, (*self.up, *self.down), strict=True))
        return {**sides, "spine": self.spine, "label": self.tree.label}

    def launch(
        self,
        kernel: runtime.Kernel,
        count: int,
        arguments: dict[str, Any],
        spaces: int = 2,
        beside: int = 0,
        most: int = 8,
    ) -> None:
        """Launch a warp per item, each with search spaces and further bytes per level of the tree.

        A block has at most ``most`` warps.
        """
        each = max(self.tree.height, 1) * (spaces * self.up[2].dtype.itemsize + beside)
        warps = min(most, shared_room() // each)
        if warps < 1:
            raise VariantUnavailable(
                f"the elimination tree is {self.tree.height} high, and a walk's distances do not "
                f"fit the shared memory of this device: use {keyword('device', 'cpu')}"
            )
        if count:
            blocks = min(kernel.resident_blocks(32 * warps, warps * each), -(-count // warps))
            kernel(blocks, 32 * warps, arguments, shared=warps * each)


class DeviceLabels:
    """Distances of every vertex to and from its ancestors, on a CUDA device.

    Made by ``Prepared.label(device="cuda")``; answers point queries in batches.

    Parameters
    ----------
    prepared : Prepared
    walks : object
        Arrays that walks read.
    up, down : arrays
        Rows of all labels; the same array if every edge weighs the same in both directions.
    """

    def __init__(self, prepared: Prepared, walks: Walks, up: Any, down: Any) -> None:
        self.prepared = prepared
        self.up, self.down = up, down
        self._walks = walks

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return int(self.up.nbytes) + (0 if self.down is self.up else int(self.down.nbytes))

    def distances_of_pairs(
        self, pairs: Any, threads: int | None = None, *, sums: Sums = "fixed"
    ) -> Any:
        """Return the distances of many pairs.

        Parameters
        ----------
        pairs, threads, sums
            As for :meth:`Prepared.distances_of_pairs`.

        Returns
        -------
        array, shape (k,)
            Distances on the device of ``pairs``.

        Raises
        ------
        VertexError, OptionError
            As :meth:`Prepared.distances_of_pairs`.
        """
        prepared = self.prepared.summing(sums)
        return _answer(prepared, pairs, check_threads(threads), self._meet)

    def _meet(self, prepared: Prepared, starts: Any, ends: Any) -> Any:
        if prepared is not self.prepared:  # an answer in 64 bits, or without weights
            return _walk(prepared, starts, ends)
        found = runtime.cupy().empty(len(starts), dtype=prepared.answer_dtype)
        walks = self._walks
        if len(starts):
            arguments = {
                "spine": walks.spine,
                "label": walks.tree.label,
                "up": self.up,
                "down": self.down,
                "sources": starts,
                "targets": ends,
                "count": np.int64(len(starts)),
                "found": found,
                "step": walks.tree.step,
            }
            walks.program.kernel("pairs_by_labels")(-(-len(starts) // 256), 256, arguments)
        return found


def device_labels(prepared: Prepared, memory: int | None = None) -> DeviceLabels:
    """Build the labels of ``Prepared.label(device="cuda")``.

    One climb per vertex, all at once: milliseconds for a city.
    """
    needed = label_bytes(prepared)
    free = bytes_left(memory, lambda: runtime.memory()[0])
    advice = f"query without labels: distances_of_pairs(pairs, {keyword('device', 'cuda')})"
    if needed > free:
        raise OutOfMemoryError(needed, free, advice)
    walks = device_walks(prepared)
    runtime.require_memory(needed, advice)
    cp = runtime.cupy()
    n = prepared.n_vertices
    count = int(label_offsets(prepared.preparation.tree)[-1])
    kernel = walks.program.kernel("label_rows")
    rows = []
    for side in (walks.up, walks.down)[: prepared.metric.sides]:
        rows.append(cp.empty(count, dtype=side[2].dtype))
        arguments = dict(zip(("node", "head_depth", "weight"), side, strict=True))
        arguments |= {"spine": walks.spine, "n": np.int32(n), "rows": rows[-1]}
        arguments |= {"height": np.int32(walks.tree.height)}
        walks.launch(kernel, n, arguments, spaces=1)
    return DeviceLabels(prepared, walks, rows[0], rows[-1])


def device_pair_distances(prepared: Prepared, pairs: Any, threads: int, devices: Any = None) -> Any:
    """Return the distances of pairs, each by a separate walk on the device."""
    listed = several.chosen(devices)
    if listed == several.chosen(None):
        return _answer(prepared, pairs, threads, _walk)

    def ask(prepared: Prepared, starts: Any, ends: Any) -> Any:
        return _shared_walk(prepared, starts, ends, listed)

    return _answer(prepared, pairs, threads, ask)


def device_indices(prepared: Prepared, pairs: Any) -> tuple[Any, Any]:
    """Check pairs and return the indices of sources and targets on the current device."""
    if runtime.is_device_array(pairs):
        if prepared.vertex_numbers is not None:
            return _checked_device_pairs(prepared, runtime.upload(pairs))
        pairs = runtime.download(runtime.upload(pairs))  # names are looked up on the host
    starts, ends = pair_indices(prepared, pairs)
    return runtime.upload(starts), runtime.upload(ends)


def _answer(prepared: Prepared, pairs: Any, threads: int, ask: Any) -> Any:
    stay = runtime.is_device_array(pairs)
    cp = runtime.cupy()
    starts, ends = device_indices(prepared, pairs)
    if prepared.adds_floats or prepared.beyond_arcs:
        there = runtime.download(starts), runtime.download(ends)
        found = pair_distances(prepared, *there, threads)
        return cp.asarray(found) if stay else found
    found = widened(prepared, ask(prepared, starts, ends), starts, ends, ask)
    return found if stay else runtime.download(found)


def _checked_device_pairs(prepared: Prepared, pairs: Any) -> tuple[Any, Any]:
    """Return sources and targets of an array of pairs, checked on the device."""
    cp = runtime.cupy()
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise OptionError(
            f"pairs has shape {pairs.shape} and dtype {pairs.dtype}: give integers, "
            "(source, target) per row"
        )
    numbers = prepared.vertex_numbers
    assert numbers is not None
    wrong = (pairs < numbers.start) | (pairs >= numbers.stop)
    if bool(wrong.any()):
        first = int(runtime.download(cp.flatnonzero(wrong)[:1])[0])
        vertex = int(runtime.download(pairs.reshape(-1)[first : first + 1])[0])
        what = ("source", "target")[first % 2]
        raise VertexError(
            f"{what} {vertex} of pair {first // 2} is not a vertex: use "
            f"{numbers.start} to {numbers.stop - 1}"
        )
    wide = pairs.astype(np.int64) - numbers.start
    return cp.ascontiguousarray(wide[:, 0]), cp.ascontiguousarray(wide[:, 1])


def _walk(prepared: Prepared, starts: Any, ends: Any) -> Any:
    walks = device_walks(prepared)
    found = runtime.cupy().empty(len(starts), dtype=prepared.answer_dtype)
    arguments = {
        **walks.arguments,
        "sources": starts,
        "targets": ends,
        "count": np.int64(len(starts)),
        "height": np.int32(walks.tree.height),
        "found": found,
        "step": walks.tree.step,
    }
    walks.launch(walks.program.kernel("pairs_walk"), len(starts), arguments)
    return found


def _shared_walk(prepared: Prepared, starts: Any, ends: Any, devices: list[int]) -> Any:
    """Walk on several devices, and gather the results on the current one."""
    home, count = runtime.device().ordinal, len(starts)
    found = runtime.cupy().empty(count, dtype=prepared.answer_dtype)
    each = max(_LEAST_SHARE, -(-count // (4 * len(devices))))

    def begin() -> Callable[[slice], None]:
        def work(block: slice) -> None:
            near = _walk(prepared, several.here(starts[block]), several.here(ends[block]))
            several.copy_to(found[block], home, near)

        return work

    blocks = [slice(first, min(first + each, count)) for first in range(0, count, each)]
    several.warn_of(several.each_block(devices, blocks, begin))
    return found


def device_walks(prepared: Prepared) -> Walks:
    """Upload the data for walks to the current device, once."""
    return _WALKS.of(prepared, lambda: _open_walks(prepared), runtime.device().ordinal)


def walks_over(prepared: Prepared, up: QueryArcs, down: QueryArcs) -> Walks:
    """Upload the data for walks over other arcs of the tree, from host memory."""
    walks = device_walks(prepared)
    over = _side(prepared, up)
    return replace(walks, up=over, down=over if down is up else _side(prepared, down))


def _side(prepared: Prepared, arcs: QueryArcs) -> tuple[Any, Any, Any]:
    """Return nodes, depths and weights of arcs in one direction."""
    node = nodes(prepared.preparation.tree, arcs)
    needed = node.nbytes + arcs.head_depth.nbytes + arcs.weight.nbytes
    runtime.require_memory(needed)
    return runtime.upload(node), runtime.upload(arcs.head_depth), runtime.upload(arcs.weight)


def _open_walks(prepared: Prepared) -> Walks:
    tree, there = prepared.preparation.tree, device_tree(prepared)
    n = tree.n_vertices
    spine = np.empty((n, 4), dtype=np.int32)
    # A heavy path is a run of labels, each the parent of the preceding one.
    ends = np.flatnonzero(tree.parent != np.arange(1, n + 1))
    top = ends[np.searchsorted(ends, np.arange(n))]
    offset = label_offsets(tree)
    if offset[-1] // 8 >= 2**31:
        raise VariantUnavailable(
            f"labels of {offset[-1]} values are too many: use {keyword('device', 'cpu')}"
        )
    spine[:, 0], spine[:, 1], spine[:, 2] = top, tree.parent[top], tree.depth
    spine[:, 3] = offset[:-1] // 8
    runtime.require_memory(spine.nbytes)
    up = (there.node, there.head_depth, there.weight)
    down = up if prepared.metric.sides == 1 else _side(prepared, prepared.metric.swept[1])
    macros = {**there.macros, "PRUNES": int(prepared.summed.n_negative == 0)}
    program = runtime.program("prepared/cuda/pairs/pairs.cuh", macros)
    return Walks(there, runtime.upload(spine), up, down, program)
