"""Check an installed nearfar: solve, prove and compare with SciPy, from Python and the shell.

``make wheels`` and the wheel builds run it in a fresh environment that has no compiler.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import dijkstra

import nearfar


def differs(graph: nearfar.Graph, paths: nearfar.Paths) -> bool:
    """Return whether an answer differs from SciPy's from vertex 0."""
    theirs = dijkstra(graph.to_scipy(), indices=0)
    return not np.array_equal(paths.to_numpy(float("inf")), theirs)


def main() -> int:
    """Run the checks; return 0 if all pass."""
    graph = nearfar.generate("road_like", vertices=20_000)
    paths = nearfar.sssp(graph, 0)
    nearfar.verify(graph, paths)
    if differs(graph, paths):
        print("distances differ from SciPy's", file=sys.stderr)
        return 1
    program = Path(sysconfig.get_path("scripts")) / "nearfar"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if said.strip() != f"nearfar {nearfar.__version__}":
        print(f"the program says {said!r}", file=sys.stderr)
        return 1
    place = Path(nearfar.__file__).parent
    print(f"nearfar {nearfar.__version__} in {place}: {paths!r}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
