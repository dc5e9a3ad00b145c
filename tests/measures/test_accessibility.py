"""Scores of accessibility, compared with sums over a stored table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

import nearfar
from nearfar.errors import OptionError
from nearfar.solve.places import table as tables
from tests.graph.test_snapping import streets

DECAYS: list[tuple[Any, Any]] = [
    (None, lambda d: np.ones_like(d)),
    ("linear", lambda d: 1 - d / 60),
    ("exponential", lambda d: np.exp(-d / 60)),
    (("exponential", 20), lambda d: np.exp(-d / 20)),
    ("gaussian", lambda d: np.exp(-(d**2) / 7200)),
    (("gaussian", 30.0), lambda d: np.exp(-(d**2) / 1800)),
    (("table", [10, 50], [1, 0.2]), lambda d: np.interp(d, [10, 50], [1, 0.2])),
    (lambda d: 1 / (1 + d), lambda d: 1 / (1 + d)),
]


def places(seed: int) -> tuple[nearfar.Graph, pandas.DataFrame, pandas.DataFrame]:
    rng = np.random.default_rng(seed)
    homes = pandas.DataFrame(rng.uniform(0, 700, (40, 2)), columns=["x", "y"])
    homes["people"] = rng.integers(0, 50, 40)
    homes.index = homes.index + 100
    clinics = pandas.DataFrame(rng.uniform(0, 700, (9, 2)), columns=["x", "y"])
    clinics["beds"] = rng.integers(1, 9, 9)
    return streets(50, seed=seed), homes, clinics


@pytest.mark.parametrize(("decay", "f"), DECAYS)
@pytest.mark.parametrize("rows", [3, 1000])
def test_scores_are_sums_over_the_table(
    decay: Any, f: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    g, homes, clinics = places(1)
    monkeypatch.setattr(tables, "_BLOCK_BYTES", rows * 8 * 100)
    d = nearfar.table(g, homes, clinics).to_numpy()
    factors = np.where(d <= 60, f(np.where(d <= 60, d, 0.0)), 0.0)
    gravity = nearfar.accessibility(g, homes, clinics, "beds", limit=60, decay=decay)
    assert gravity.index.equals(homes.index)
    assert np.allclose(gravity, factors @ clinics["beds"])
    reaching = homes["people"].to_numpy() @ factors
    ratio = np.divide(clinics["beds"], reaching, out=np.zeros(9), where=reaching > 0)
    told: list[tuple[float, float]] = []
    scores = nearfar.accessibility(
        g, homes, clinics, "beds", demand="people", limit=60, decay=decay,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert np.allclose(scores, factors @ ratio)
    assert told[-1] == (80, 80)
    # The scores of all people add up to the reached beds.
    assert (scores * homes["people"]).sum() == pytest.approx(clinics["beds"][reaching > 0].sum())


def test_arrays_and_counts() -> None:
    g, homes, clinics = places(2)
    a, b = homes[["x", "y"]].to_numpy(), clinics[["x", "y"]].to_numpy()
    d = nearfar.table(g, a, b)
    found = nearfar.accessibility(g, a, b, limit=30)
    assert np.array_equal(found, (d <= 30).sum(axis=1))
    prepared = nearfar.prepare(g, force=True)
    assert np.array_equal(nearfar.accessibility(prepared, a, b, limit=30), found)
    far = nearfar.accessibility(g, a, b, decay=("exponential", 5), demand=np.zeros(40))
    assert np.array_equal(far, np.zeros(40))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "give limit, decay or both"),
        (
            {"limit": 5, "supply": "seats"},
            "supply is 'seats': there is no such column; there are x, y",
        ),
        ({"limit": 5, "supply": [1, 2]}, "give one number for each of 9"),
        ({"limit": 5, "demand": [-1.0] * 40}, "demand is -1.0 in row 0"),
        ({"limit": 5, "demand": ["a"] * 40}, "demand holds something that is not a number"),
        ({"decay": "linear"}, "decay is 'linear': give None"),
        ({"decay": ("exponential", 0)}, "decay is"),
        ({"decay": ("table", [2, 1], [1, 1])}, "decay is"),
        ({"decay": 7}, "decay is 7"),
        ({"decay": lambda d: d[:1]}, "decay returned shape"),
    ],
)
def test_bad_input_is_told_in_a_sentence(options: dict[str, Any], text: str) -> None:
    g, homes, clinics = places(3)
    with pytest.raises(OptionError, match=text):
        nearfar.accessibility(g, homes, clinics, **options)
