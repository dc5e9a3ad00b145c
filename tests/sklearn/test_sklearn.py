"""Estimators, compared with scikit-learn's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nearfar.errors import GraphError, OptionError

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import make_s_curve
from sklearn.manifold import Isomap as Theirs
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import nearfar
from nearfar.sklearn import GeodesicKNeighborsTransformer, Isomap


@pytest.fixture(scope="module")
def curve() -> np.ndarray:
    return make_s_curve(400, random_state=3)[0]


def same_shape(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of two embeddings, whose axes may be reversed."""
    signs = np.sign((one * other).sum(axis=0))
    return float(np.abs(one - other * signs).max())


def test_isomap_is_that_of_scikit_learn(curve: np.ndarray) -> None:
    new = make_s_curve(50, random_state=4)[0]
    theirs = Theirs(n_neighbors=8).fit(curve)
    ours = Isomap(n_neighbors=8).fit(curve)
    np.testing.assert_allclose(ours.distances_, theirs.dist_matrix_, rtol=1e-12)
    assert same_shape(ours.embedding_, theirs.embedding_) < 1e-8
    assert same_shape(ours.transform(new), theirs.transform(new)) < 1e-8
    assert same_shape(ours.transform(curve), ours.embedding_) < 1e-8


def test_landmarks_come_close_with_less_work(curve: np.ndarray) -> None:
    whole = Isomap(n_neighbors=8).fit(curve)
    some = Isomap(n_neighbors=8, landmarks=60, random_state=0).fit(curve)
    assert some.distances_.shape == (400, 60)
    np.testing.assert_array_equal(some.distances_, whole.distances_[:, some.landmarks_])
    spread = whole.embedding_.std(axis=0).max()
    assert same_shape(some.embedding_, whole.embedding_) < 0.2 * spread
    named = Isomap(n_neighbors=8, landmarks=some.landmarks_).fit(curve)
    np.testing.assert_array_equal(named.embedding_, some.embedding_)


def test_estimators_are_scikit_learns(curve: np.ndarray) -> None:
    ours = Isomap(n_neighbors=7, landmarks=30, random_state=1)
    assert clone(ours).get_params() == ours.get_params()
    ours.fit(curve)
    assert ours.get_feature_names_out().tolist() == ["isomap0", "isomap1"]
    assert nearfar.sklearn.Isomap is Isomap
    with pytest.raises(ValueError, match="2 features"):
        ours.transform(curve[:, :2])


def test_neighbours_along_the_data_and_not_through_the_air() -> None:
    """Two interleaved arcs, of which one sample each has a label."""
    angle = np.linspace(0, np.pi, 150)
    upper = np.column_stack((np.cos(angle), np.sin(angle)))
    lower = np.column_stack((1 - np.cos(angle), 0.5 - np.sin(angle)))
    X, y = np.vstack((upper, lower)), np.repeat([0, 1], 150)
    labelled = np.array([0, 150])
    found = GeodesicKNeighborsTransformer(n_neighbors=4, n_nearest=1, landmarks=labelled)
    nearest = found.fit_transform(X)
    assert nearest.shape == (300, 300)
    np.testing.assert_array_equal(y[nearest.indices], y)
    through_the_air = KNeighborsClassifier(1).fit(X[labelled], y[labelled]).score(X, y)
    assert through_the_air < 1


def test_a_pipeline_takes_the_distances(curve: np.ndarray) -> None:
    half = curve[:, 2] > 0
    model = make_pipeline(
        GeodesicKNeighborsTransformer(n_neighbors=6, n_nearest=5),
        KNeighborsClassifier(n_neighbors=5, metric="precomputed"),
    )
    new = make_s_curve(80, random_state=8)[0]
    assert model.fit(curve, half).score(new, new[:, 2] > 0) > 0.9
    matrix = model[0].transform(curve[:3])
    assert matrix.shape == (3, 400)
    row = matrix[0]
    assert (np.diff(row.data) >= 0).all()


def test_what_cannot_be_measured_is_refused(curve: np.ndarray) -> None:
    apart = np.vstack((curve, curve + 1000))
    with pytest.raises(GraphError, match=r"is not connected: increase n_neighbors"):
        Isomap().fit(apart)
    matrix = GeodesicKNeighborsTransformer(n_nearest=800).fit_transform(apart)
    assert np.diff(matrix.indptr).max() == 400
    for wrong in (0, 401, [], [0, 0], [400], 0.5):
        with pytest.raises(OptionError, match="landmarks"):
            Isomap(landmarks=wrong).fit(curve)
    for wrong in ("many", 2.5):
        with pytest.raises(OptionError, match=f"n_neighbors is {wrong!r}: give 1 to 399"):
            Isomap(n_neighbors=wrong).fit(curve)
    with pytest.raises(OptionError, match="threads is 0: give an integer"):
        Isomap(threads=0).fit(curve)
    with pytest.raises(OptionError, match="n_neighbors is 400: give 1 to 399"):
        Isomap(n_neighbors=400).fit(curve)
    with pytest.raises(OptionError, match="n_nearest is 11: give 1 to 5"):
        GeodesicKNeighborsTransformer(n_nearest=11, landmarks=5).fit(curve)


@pytest.mark.parametrize("landmarks", [None, 50])
def test_the_nearest_are_those_of_the_whole_matrix(curve: np.ndarray, landmarks: Any) -> None:
    whole = Isomap(n_neighbors=6, landmarks=landmarks, random_state=0).fit(curve)
    few = GeodesicKNeighborsTransformer(6, 7, landmarks=landmarks, random_state=0)
    new = make_s_curve(40, random_state=9)[0]
    for found, rows in (
        (few.fit_transform(curve), whole.distances_),
        (few.transform(new), whole._to_landmarks(new)),
    ):
        order = np.argsort(rows, axis=1, kind="stable")[:, :7]
        want = np.take_along_axis(rows, order, axis=1)
        np.testing.assert_array_equal(found.data.reshape(-1, 7), want)
        np.testing.assert_array_equal(found.indices.reshape(-1, 7), few.landmarks_[order])
