"""nearfar.torch with CuPy arrays, and with tensors if PyTorch is installed: no host copies."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar import Graph
from nearfar.torch import shortest_path_distances
from tests.torch.test_encodings import SIZES, batch_of


@pytest.mark.parametrize("dtype", [None, "int32", "int64", "float32", "float64"])
def test_a_batch_of_arrays(dtype: str | None) -> None:
    import cupy

    ends, batch, weights, _ = batch_of(SIZES * 9, 5, divide=7 if str(dtype)[0] == "f" else 1)
    given = None if dtype is None else weights.astype(dtype)
    found = shortest_path_distances(
        *(None if a is None else cupy.asarray(a) for a in (ends, batch, given))
    )
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_array_equal(found.get(), shortest_path_distances(ends, batch, given))


def test_edges_are_sorted_on_the_device() -> None:
    import cupy

    ends, batch, weights, _ = batch_of(SIZES * 9, 6)
    for directed in (True, False):
        made = Graph.from_edge_index(
            cupy.asarray(ends), cupy.asarray(weights), n_vertices=len(batch), directed=directed
        )
        assert made.on_device
        want = Graph.from_edge_index(ends, weights, n_vertices=len(batch), directed=directed)
        assert (made.to_scipy() != want.to_scipy()).nnz == 0


def test_a_batch_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch without CUDA")
    ends, batch, _, _ = batch_of(SIZES, 7)
    found = shortest_path_distances(torch.tensor(ends).cuda(), torch.tensor(batch).cuda())
    assert found.is_cuda
    np.testing.assert_array_equal(found.cpu().numpy(), shortest_path_distances(ends, batch))
