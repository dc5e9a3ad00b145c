"""The documented line that puts nearfar under scikit-learn's Isomap: same distances, same bits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "coming-from-scipy.md"


@pytest.mark.parametrize("n_neighbors", [5, 10])
def test_the_documented_line(n_neighbors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    isomap = pytest.importorskip("sklearn.manifold._isomap")
    from sklearn.datasets import make_swiss_roll
    from sklearn.manifold import Isomap

    import nearfar.csgraph

    points, _ = make_swiss_roll(300, random_state=1)
    before = Isomap(n_neighbors=n_neighbors, eigen_solver="dense").fit(points)
    calls: list[Any] = []
    original = nearfar.csgraph.shortest_path

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(nearfar.csgraph, "shortest_path", counted)
    monkeypatch.setattr(isomap, "shortest_path", isomap.shortest_path)  # put back afterwards
    text = PAGE.read_text()
    patch = re.search(r"```python\n(import nearfar.csgraph, sklearn.*?)```", text, re.DOTALL)
    assert patch is not None
    exec(compile(patch[1], str(PAGE), "exec"), {})
    after = Isomap(n_neighbors=n_neighbors, eigen_solver="dense").fit(points)
    assert calls
    np.testing.assert_array_equal(after.dist_matrix_, before.dist_matrix_)
    np.testing.assert_array_equal(after.embedding_, before.embedding_)
    np.testing.assert_array_equal(after.transform(points[:20]), before.transform(points[:20]))
