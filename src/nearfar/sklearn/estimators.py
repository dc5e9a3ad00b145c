"""Estimators with a neighbourhood graph from scikit-learn and distances along it from nearfar."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.errors import GraphError, MissingDependencyError, OptionError, quoted
from nearfar.graph.graph import Graph
from nearfar.solve.many import distances
from nearfar.solve.nearest import nearest
from nearfar.system.threads import check_threads

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.decomposition import KernelPCA
    from sklearn.neighbors import NearestNeighbors
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingDependencyError(
        "nearfar.sklearn needs scikit-learn 1.6 or newer: pip install 'nearfar[sklearn]'"
    ) from None

from numpy.typing import ArrayLike, NDArray


class _Geodesic(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of both estimators: neighbours of the samples, and the graph that connects them."""

    n_neighbors: int
    metric: str
    threads: int | None
    device: str

    def _fit_graph(self, X: Any) -> Graph:
        """Find the neighbours of each sample, and connect them in both directions."""
        X = validate_data(self, X, dtype=np.float64)
        n = len(X)
        if self.threads is not None:
            check_threads(self.threads)
        whole = isinstance(self.n_neighbors, (int, np.integer))
        if not whole or not 1 <= self.n_neighbors < max(n, 1):
            raise OptionError(
                f"n_neighbors is {quoted(self.n_neighbors)}: give 1 to {n - 1}, fewer than the "
                f"n_samples = {n}"
            )
        self.nbrs_ = NearestNeighbors(
            n_neighbors=self.n_neighbors, metric=self.metric, n_jobs=self.threads
        ).fit(X)
        self.n_features_in_ = X.shape[1]
        joined = self.nbrs_.kneighbors_graph(mode="distance")
        return Graph.from_scipy(joined, directed=False, copy=False)

    def _landmarks(self, n: int, wanted: Any, random_state: Any) -> NDArray[np.int64]:
        """Return the positions of the landmarks."""
        if wanted is None:
            return np.arange(n)
        if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
            if not 1 <= wanted <= n:
                raise OptionError(f"landmarks is {wanted}: give 1 to {n}, the number of samples")
            drawn = check_random_state(random_state).choice(n, int(wanted), replace=False)
            return np.sort(drawn).astype(np.int64)
        given = np.asarray(wanted)
        if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
            raise OptionError(f"landmarks is {quoted(wanted)}: give a number, or sample positions")
        if given.min() < 0 or given.max() >= n or len(np.unique(given)) < len(given):
            raise OptionError(f"landmarks must be distinct positions from 0 to {n - 1}")
        return given.astype(np.int64)

    def _to_landmarks(self, X: Any) -> NDArray[np.float64]:
        """Return distances of new samples to the landmarks, via their nearest neighbours."""
        X = validate_data(self, X, dtype=np.float64, reset=False)
        steps, neighbours = self.nbrs_.kneighbors(X)
        found = np.empty((len(X), self.distances_.shape[1]))
        for at in range(len(X)):
            np.min(steps[at][:, None] + self.distances_[neighbours[at]], axis=0, out=found[at])
        return found


class Isomap(ClassNamePrefixFeaturesOutMixin, _Geodesic):  # type: ignore[misc]
    """Embedding whose Euclidean distances approximate those along the neighbourhood graph.

    Without landmarks the embedding is that of :class:`sklearn.manifold.Isomap`. With landmarks it
    is Landmark Isomap (de Silva and Tenenbaum, 2003): the landmarks are placed by classical scaling
    and the other samples by triangulation, so that time and memory per sample are proportional to
    the number of landmarks instead of the number of samples.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours of each sample, excluding itself.
    n_components : int
        Dimensions of the embedding.
    landmarks : int, array of int, or None
        Number of landmarks, drawn at random from the samples, or their positions. None means all
        samples.
    metric : str
        Metric of the neighbours, as for :class:`sklearn.neighbors.NearestNeighbors`.
    threads : int or None
        CPU workers; None uses all cores for distances and one core for neighbours.
    device : {"auto", "cpu", "cuda", "gpu"}
        As for :func:`nearfar.distances`.
    random_state : int, RandomState or None
        Random state for drawing the landmarks.

    Attributes
    ----------
    embedding_ : float64 array, shape (n_samples, n_components)
    landmarks_ : int64 array
        Positions of the landmarks.
    distances_ : float64 array, shape (n_samples, n_landmarks)
        Distances along the graph.
    kernel_pca_ : sklearn.decomposition.KernelPCA
        Kernel PCA of the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from nearfar.sklearn import Isomap
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Isomap(n_neighbors=8, landmarks=50, random_state=0).fit_transform(X).shape
    (200, 2)
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        n_components: int = 2,
        *,
        landmarks: int | ArrayLike | None = None,
        metric: str = "euclidean",
        threads: int | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.landmarks = landmarks
        self.metric = metric
        self.threads = threads
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Isomap:
        """Embed samples.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        Isomap
            Itself.

        Raises
        ------
        GraphError
            If the neighbourhood graph is not connected.
        OptionError
            For more neighbours or landmarks than there are samples.
        """
        graph = self._fit_graph(X)
        self.landmarks_ = self._landmarks(graph.n_vertices, self.landmarks, self.random_state)
        device: Any = self.device
        found = distances(graph, self.landmarks_, threads=self.threads, device=device)
        self.distances_ = np.ascontiguousarray(found.T)
        if np.isinf(self.distances_).any():
            raise GraphError(
                f"the graph of {self.n_neighbors} neighbours is not connected: increase n_neighbors"
            )
        kernel = -0.5 * self.distances_[self.landmarks_] ** 2
        self.kernel_pca_ = KernelPCA(
            n_components=self.n_components, kernel="precomputed", random_state=self.random_state
        ).fit(kernel)
        self.embedding_ = self.kernel_pca_.transform(-0.5 * self.distances_**2)
        self._n_features_out = self.embedding_.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Embed samples and return their coordinates, shape (n_samples, n_components)."""
        found: NDArray[np.float64] = self.fit(X).embedding_
        return found

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Embed new samples by their neighbours among the fitted samples.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)

        Returns
        -------
        float64 array, shape (n_samples, n_components)
        """
        check_is_fitted(self)
        found: NDArray[np.float64] = self.kernel_pca_.transform(-0.5 * self._to_landmarks(X) ** 2)
        return found


class GeodesicKNeighborsTransformer(_Geodesic):
    """Nearest samples along the neighbourhood graph, as a sparse matrix of distances.

    It replaces :class:`sklearn.neighbors.KNeighborsTransformer` before an estimator with
    ``metric="precomputed"``, which then uses distances along the graph instead of straight lines.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours to which the graph connects each sample.
    n_nearest : int
        Number of nearest samples along the graph per row, including the sample itself if it was
        fitted.
    landmarks : int, array of int, or None
        Samples that can be among the nearest, such as labelled ones. None means all samples.
    metric, threads, device, random_state
        As for :class:`Isomap`.

    Attributes
    ----------
    landmarks_ : int64 array
        Positions of the samples that can be among the nearest; by default all samples.
    nearest_ : int64 array, shape (n_samples, n_nearest)
        Nearest landmarks of each sample, nearest first, padded with -1.
    nearest_distances_ : float64 array of the same shape
        Distances along the graph, padded with inf.

    Notes
    -----
    One search settles every sample ``n_nearest`` times: time and memory are proportional to the
    number of samples times ``n_nearest``.
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        n_nearest: int = 10,
        *,
        landmarks: int | ArrayLike | None = None,
        metric: str = "euclidean",
        threads: int | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_nearest = n_nearest
        self.landmarks = landmarks
        self.metric = metric
        self.threads = threads
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> GeodesicKNeighborsTransformer:
        """Connect the samples and compute distances along the graph.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        GeodesicKNeighborsTransformer
            Itself.

        Raises
        ------
        OptionError
            For more neighbours, landmarks or nearest samples than there are samples.
        """
        graph = self._fit_graph(X)
        self.landmarks_ = self._landmarks(graph.n_vertices, self.landmarks, self.random_state)
        if not 1 <= self.n_nearest <= len(self.landmarks_):
            raise OptionError(f"n_nearest is {self.n_nearest}: give 1 to {len(self.landmarks_)}")
        device: Any = self.device
        found = nearest(
            graph, self.landmarks_, k=int(self.n_nearest), threads=self.threads, device=device
        )
        self.nearest_, self.nearest_distances_ = found.sources, found.distances
        self.n_samples_fit_ = graph.n_vertices
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the samples and return their nearest samples; see :meth:`transform`."""
        self.fit(X)
        return self._sparse(self.nearest_, self.nearest_distances_)

    def transform(self, X: Any) -> Any:
        """Return the nearest fitted samples of new samples.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)

        Returns
        -------
        scipy.sparse.csr_matrix, shape (n_samples, n_samples_fit)
            Distances to the ``n_nearest`` samples per row, nearest first, or fewer if fewer are
            reached.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        steps, neighbours = self.nbrs_.kneighbors(X)
        places = np.full((len(X), self.n_nearest), -1)
        values = np.full((len(X), self.n_nearest), np.inf)
        for at in range(len(X)):
            # A vertex that is not among a neighbour's nearest cannot be nearest via this neighbour.
            theirs = self.nearest_[neighbours[at]].ravel()
            lengths = (steps[at][:, None] + self.nearest_distances_[neighbours[at]]).ravel()
            order = np.lexsort((theirs, lengths))
            order = order[theirs[order] >= 0]
            _, first = np.unique(theirs[order], return_index=True)
            kept = order[np.sort(first)[: self.n_nearest]]
            places[at, : len(kept)], values[at, : len(kept)] = theirs[kept], lengths[kept]
        return self._sparse(places, values)

    def _sparse(self, places: NDArray[np.int64], values: NDArray[np.float64]) -> Any:
        from scipy.sparse import csr_matrix

        reached = places >= 0
        starts = np.concatenate(([0], np.cumsum(reached.sum(axis=1))))
        shape = (len(places), self.n_samples_fit_)
        return csr_matrix((values[reached], places[reached], starts), shape=shape)
