"""Tree labels: the stored search space of every vertex, for point queries in batches."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.errors import GraphFormatError, OptionError, OutOfMemoryError, keyword, quoted
from nearfar.prepared.cpu.pairs import pair_distances, pair_indices, widened
from nearfar.prepared.files.file import read_arrays, write_arrays
from nearfar.system.memory import bytes_left, free_memory
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from nearfar.prepared.order.tree import Tree
    from nearfar.prepared.prepared import Prepared, Sums

__all__ = [
    "TreeLabels",
    "label_bytes",
    "label_offsets",
    "many_pair_distances",
    "read_labels",
    "tree_labels",
]

#: Pairs per vertex from which labels are built. On roads and meshes labels of all vertices cost as
#: much as 0.03 to 0.12 walks per vertex.
_REPAID = 0.25
_FEWEST = 1024  # pairs below which either method takes at most two milliseconds
_COMPACT = (0, 16, 64, 256)  # sizes of subtrees without rows, tried until the labels fit
_PART = 4  # labels take at most one over this of the free memory by default


class TreeLabels:
    """Distances of every vertex to and from its ancestors in the elimination tree.

    Made by :meth:`Prepared.label`; answers point queries in batches.

    Parameters
    ----------
    prepared : Prepared
    offset : int64 array, shape (n + 1,)
        Row ``v`` begins at ``offset[v]`` and has one value per ancestor, by depth. In compact
        labels some rows are empty.
    ancestry : uint32 array, shape (2 * n,)
    above : int32 array, shape (n + 2,)
        Table for the depth of the lowest common ancestor of two labels.
    up, down : arrays, shape (offset[n],)
        Distances up and down; the same array if every edge has one weight in both directions.
    compact : int
        Size of the subtrees without rows, as for :meth:`Prepared.label`.
    """

    def __init__(
        self,
        prepared: Prepared,
        offset: NDArray[np.int64],
        ancestry: NDArray[np.uint32],
        above: NDArray[np.int32],
        up: NDArray[Any],
        down: NDArray[Any],
        compact: int = 0,
    ) -> None:
        self.prepared, self.compact = prepared, compact
        self.offset, self.ancestry, self.above = offset, ancestry, above
        self.up, self.down = up, down

    def __repr__(self) -> str:
        return f"TreeLabels(n={len(self.offset) - 1:,}, {self.nbytes / 2**20:.1f} MiB)"

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        both = self.up.nbytes + (0 if self.down is self.up else self.down.nbytes)
        return both + self.offset.nbytes + self.ancestry.nbytes + self.above.nbytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to a file that :meth:`Prepared.read_labels` maps into memory.

        Parameters
        ----------
        path : str or path
            Ends in ``.nfp``. The file appears complete or not at all.

        Raises
        ------
        OptionError
            For another suffix.
        OSError
            If the file cannot be written.
        """
        about = {"labels": {"compact": self.compact, "of": _digest(self.prepared)}}
        both = {"labels.up": self.up}
        if self.down is not self.up:
            both["labels.down"] = self.down
        write_arrays(path, about, both)

    def distances_of_pairs(
        self, pairs: Any, threads: int | None = None, *, sums: Sums = "fixed"
    ) -> NDArray[Any]:
        """Return the distances of many pairs.

        Parameters
        ----------
        pairs, threads, sums
            As for :meth:`Prepared.distances_of_pairs`. With ``sums="search"`` each pair is a walk.

        Returns
        -------
        array, shape (k,)
            As of :meth:`Prepared.distances_of_pairs`.

        Raises
        ------
        VertexError, OptionError
            As :meth:`Prepared.distances_of_pairs`.
        """
        starts, ends = pair_indices(self.prepared, pairs)
        workers = check_threads(threads)
        prepared = self.prepared.summing(sums)
        if prepared.adds_floats or prepared.beyond_arcs:
            return pair_distances(prepared, starts, ends, workers)
        return self.between(starts, ends, workers)

    def between(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64], workers: int
    ) -> NDArray[Any]:
        """Return the distances of pairs of vertex indices."""
        out = np.empty(len(starts), dtype=self.prepared.answer_dtype)
        _cpu.prepared_label_pairs(
            self.prepared.metric_view,
            self.offset,
            self.ancestry,
            self.above,
            self.up,
            self.down,
            starts,
            ends,
            out,
            workers,
        )
        return widened(
            self.prepared, out, starts, ends, lambda p, s, t: pair_distances(p, s, t, workers)
        )


def many_pair_distances(
    prepared: Prepared,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    threads: int,
    memory: int | None = None,
    stats: dict[str, Any] | None = None,
) -> NDArray[Any]:
    """Return distances of pairs, by labels if there are enough pairs, else by walks."""
    count = len(starts)
    many = count >= max(_FEWEST, _REPAID * prepared.n_vertices)
    if many and not (prepared.adds_floats or prepared.beyond_arcs):
        limit = bytes_left(memory, lambda: free_memory() // _PART)
        fitting = (c for c in _COMPACT if label_bytes(prepared, c) <= limit)
        if (compact := next(fitting, None)) is not None:
            began = time.perf_counter()
            labels = tree_labels(prepared, limit, threads, compact)
            seconds = time.perf_counter() - began
            if stats is not None:
                stats.update(pairs_by="labels", label_bytes=labels.nbytes, label_seconds=seconds)
            return labels.between(starts, ends, threads)
    if stats is not None:
        stats["pairs_by"] = "walks"
    return pair_distances(prepared, starts, ends, threads)


def label_bytes(prepared: Prepared, compact: int = 0) -> int:
    """Return the bytes of all labels: a value per vertex, ancestor and direction."""
    values = int(label_offsets(prepared.preparation.tree, compact)[-1])
    return values * prepared.metric.dtype.itemsize * prepared.metric.sides


def tree_labels(
    prepared: Prepared, memory: int | None, threads: int | None, compact: int = 0
) -> TreeLabels:
    """Build the labels of :meth:`Prepared.label`."""
    if isinstance(compact, bool) or not isinstance(compact, (int, np.integer)) or compact < 0:
        raise OptionError(
            f"{keyword('compact')} is {quoted(compact)}: give an integer of at least 0"
        )
    needed = label_bytes(prepared, compact)
    free = bytes_left(memory, free_memory)
    if needed > free:
        fewer = keyword("compact", max(16, 4 * int(compact)))
        advice = f"give {fewer} for fewer labels, or query without"
        raise OutOfMemoryError(needed, free, advice)
    workers = check_threads(threads)
    offset = label_offsets(prepared.preparation.tree, compact)
    rows = [np.empty(int(offset[-1]), dtype=prepared.metric.weights.dtype)]
    _cpu.prepared_label_rows(prepared.metric_view, False, offset, rows[0], workers)
    if prepared.metric.sides == 2:
        rows.append(np.empty_like(rows[0]))
        _cpu.prepared_label_rows(prepared.metric_view, True, offset, rows[1], workers)
    return _of_rows(prepared, offset, rows, compact)


def read_labels(prepared: Prepared, path: str | os.PathLike[str], check: bool) -> TreeLabels:
    """Map the labels from a file; see :meth:`Prepared.read_labels`."""
    about, arrays = read_arrays(path, check)
    kept = about.get("labels")
    kept = kept if isinstance(kept, dict) else {}
    compact = kept.get("compact")
    if not isinstance(compact, int) or isinstance(compact, bool) or compact < 0:
        raise GraphFormatError("this file holds no labels: TreeLabels.save writes them", path)
    if kept.get("of") != _digest(prepared):
        raise GraphFormatError(
            "the labels belong to another graph, order or other weights: build them again", path
        )
    offset = label_offsets(prepared.preparation.tree, compact)
    names = ("labels.up", "labels.down")[: prepared.metric.sides]
    rows = [arrays[name] for name in names if name in arrays]
    fitting = all(
        row.shape == (offset[-1],) and row.dtype == prepared.metric.weights.dtype for row in rows
    )
    if len(rows) != len(names) or not fitting:
        raise GraphFormatError("the labels do not belong to the graph", path)
    return _of_rows(prepared, offset, rows, compact)


def _of_rows(
    prepared: Prepared, offset: NDArray[np.int64], rows: list[NDArray[Any]], compact: int
) -> TreeLabels:
    ancestry, above = _cpu.prepared_ancestry(prepared.preparation.view)
    return TreeLabels(prepared, offset, ancestry, above, rows[0], rows[-1], int(compact))


def _digest(prepared: Prepared) -> str:
    """Return a hash of the tree and of the weights of all arcs."""
    state, tree = hashlib.sha256(), prepared.preparation.tree
    for array in (tree.vertex, tree.parent, prepared.metric.weights):
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


def label_offsets(tree: Tree, compact: int = 0) -> NDArray[np.int64]:
    """Return the start of each label's row; rows are padded to whole registers.

    The rows of labels with at most ``compact`` labels in their subtree, themselves included, are
    empty.
    """
    sizes = (tree.depth.astype(np.int64) + 8) & ~7
    sizes[np.arange(tree.n_vertices) - tree.low < compact] = 0
    offset = np.zeros(tree.n_vertices + 1, dtype=np.int64)
    np.cumsum(sizes, out=offset[1:])
    return offset
