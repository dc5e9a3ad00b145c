"""Compare traffic assignment to a relative gap by nearfar and by AequilibraE's ``bfw``.

The peer runs in a separate interpreter, which ``--peer`` names (``pip install aequilibrae`` in a
virtual environment). Both get the same network, demand and number of threads, and they alternate.
Only the assignment is timed, without reading files and building graphs. nearfar computes the gaps
from the flows of both. Links take at least 1e-6 units of time.

    python benchmarks/assign.py --peer venv/bin/python -o benchmarks/results/assign.json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.lab.bench.environment import environment
from result_file import add_output, write_result

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

#: Minimum time of a link, since the peer refuses the links of Chicago Sketch that take no time.
LEAST = 1e-6

PEER = r"""
import json, logging, os, sys, tempfile, time, warnings
import numpy as np, pandas as pd
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)
os.environ["AEQ_SHOW_PROGRESS"] = "FALSE"
from aequilibrae.matrix import AequilibraeMatrix
from aequilibrae.paths import Graph, TrafficAssignment, TrafficClass
path, goal, threads, most = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
d = np.load(path)
m, zones = len(d["tails"]), d["trips"].shape[0]
frame = pd.DataFrame({
    "link_id": np.arange(1, m + 1), "a_node": d["tails"] + 1, "b_node": d["heads"] + 1,
    "direction": 1, "fft": d["free"], "capacity": d["capacity"], "b": d["b"], "power": d["power"],
    "fixed": d["fixed"],
})
g = Graph()
g.network = frame
g.prepare_graph(np.arange(1, zones + 1))
g.set_graph("fft")
g.set_skimming([])
g.set_blocked_centroid_flows(bool(d["closed"]))
matrix = AequilibraeMatrix()
matrix.create_empty(zones=zones, matrix_names=["trips"], memory_only=True)
matrix.index = np.arange(1, zones + 1)
matrix.matrix["trips"][:, :] = d["trips"]
matrix.computational_view(["trips"])
cars = TrafficClass("cars", g, matrix)
if d["fixed"].any():
    cars.set_vot(1.0)
    cars.set_fixed_cost("fixed")
a = TrafficAssignment()
a.set_classes([cars])
a.set_vdf("BPR")
a.set_vdf_parameters({"alpha": "b", "beta": "power"})
a.set_capacity_field("capacity")
a.set_time_field("fft")
a.set_algorithm("bfw")
a.max_iter = most
a.rgap_target = goal
a.set_cores(threads)
begun = time.perf_counter()
a.execute()
seconds = time.perf_counter() - begun
flows = a.results()["PCE_tot"].to_numpy()
report = a.report()
np.save(path + ".flows.npy", flows)
print(json.dumps({"seconds": seconds, "iterations": int(report["iteration"].max())}))
"""


def generated(vertices: int, zones: int, seed: int) -> Any:
    """Generate a road network with demand between zones, as arguments of an assignment."""
    from nearfar.generators import generate

    graph = generate("country_roads", vertices=vertices, seed=seed)
    random = np.random.default_rng(seed)
    picked = np.sort(random.choice(graph.n_vertices, zones, replace=False))
    # Zones come first, as the peer requires.
    new = np.empty(graph.n_vertices, dtype=np.int64)
    rest = np.setdiff1d(np.arange(graph.n_vertices), picked)
    new[np.concatenate([picked, rest])] = np.arange(graph.n_vertices)
    m = graph.n_edges
    ends = {"tails": new[graph.tails(np.int64)], "heads": new[graph.indices]}
    free = graph.effective_weights.astype(np.float64)
    trips = random.gamma(0.5, 4.0, (zones, zones))
    np.fill_diagonal(trips, 0)
    return {
        **ends,
        "free": free / free.mean(),
        "capacity": random.uniform(0.5, 1.5, m) * trips.sum() / 40,
        "b": np.full(m, 0.15),
        "power": np.full(m, 4.0),
        "fixed": np.zeros(m),
        "trips": trips,
        "closed": False,
        "n": graph.n_vertices,
    }


def known(name: str) -> Any:
    """Return a network of the TNTP test problems, as arguments of an assignment."""
    from nearfar.formats import read_traffic

    folder = Path(os.environ["NEARFAR_DATA"]) / "tntp"
    town = read_traffic(*(folder / f"{name}_{kind}.tntp.xz" for kind in ("net", "trips")))
    chicago = name == "ChicagoSketch"
    fixed = 0.04 * town.links["length"] + 0.02 * town.links["toll"]
    return {
        "tails": town.graph.tails(np.int64),
        "heads": town.graph.indices.astype(np.int64),
        "free": np.maximum(town.links["free_flow_time"], LEAST),
        **{column: town.links[column] for column in ("capacity", "b", "power")},
        "fixed": fixed if chicago else np.zeros_like(fixed),
        "trips": town.demand.toarray(),
        "closed": len(town.closed) > 0,
        "n": town.graph.n_vertices,
    }


def measured(given: Any, peer: str, goal: float, threads: int, rounds: int, most: int) -> Any:
    """Return seconds, iterations and gaps of both, measured in alternation."""
    import nearfar
    from nearfar.measures import Bpr, assign

    zones = range(given["trips"].shape[0])
    order = np.argsort(given["tails"], kind="stable")
    column = {key: given[key][order] for key in ("free", "capacity", "b", "power", "fixed")}
    graph: Any = nearfar.Graph.from_edges(
        given["tails"][order], given["heads"][order], column["free"], n_vertices=given["n"]
    )
    if given["closed"]:
        graph = graph.with_turns(closed=zones)
    costs = Bpr(column["free"], column["capacity"], column["b"], column["power"])
    from scipy.sparse import coo_array

    demand = coo_array(given["trips"])

    def ours(**more: Any) -> Any:
        return assign(
            graph, demand, costs, zones=zones, fixed=column["fixed"], threads=threads, **more
        )

    rows: dict[str, list[Any]] = {"nearfar": [], "aequilibrae": []}
    gaps: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "network.npz")
        np.savez(path, **given)
        ours(gap=1.0)
        for _ in range(rounds):
            begun = time.perf_counter()
            found = ours(gap=goal, iterations=most)
            rows["nearfar"].append((time.perf_counter() - begun, len(found.history) - 1))
            gaps["nearfar"] = found.gap
            command = [peer, "-c", PEER, path, str(goal), str(threads), str(most)]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            told = json.loads(out.splitlines()[-1])
            rows["aequilibrae"].append((told["seconds"], told["iterations"]))
        flows = np.load(path + ".flows.npy")[order]
        gaps["aequilibrae"] = ours(start=flows, iterations=0).gap
    return {
        who: {
            "seconds": [row[0] for row in listed],
            "iterations": listed[-1][1],
            "gap": gaps[who],
        }
        for who, listed in rows.items()
    }


def main() -> None:
    """Measure all networks and goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="interpreter that has aequilibrae")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=3000, help="iterations")
    parser.add_argument("--goals", type=float, nargs="+", default=[1e-5, 1e-6])
    add_output(parser)
    args = parser.parse_args()
    version = "from importlib.metadata import version; print(version('aequilibrae'))"
    asked = subprocess.run([args.peer, "-c", version], capture_output=True, text=True, check=True)
    args.version = f"aequilibrae {asked.stdout.strip()}"
    cases = {name: known(name) for name in ("SiouxFalls", "Anaheim", "ChicagoSketch")}
    cases |= {
        f"country_roads {n}": generated(n, zones, 1) for n, zones in ((2_000, 100), (5_000, 100))
    }
    results: list[Any] = []
    for goal in args.goals:
        for name, given in cases.items():
            found = measured(given, args.peer, goal, args.threads, args.rounds, args.most)
            times = {who: statistics.median(row["seconds"]) for who, row in found.items()}
            ratio = times["aequilibrae"] / times["nearfar"]
            print(f"{name:22} {goal:g} {times} ratio {ratio:.2f}", flush=True)
            print("   ", {who: (row["iterations"], row["gap"]) for who, row in found.items()})
            results.append({"network": name, "goal": goal, "ratio": ratio, **found})
            told = {"threads": args.threads, "rounds": args.rounds, "peer": args.version}
            write_result(args.output, {**told, "environment": environment(), "results": results})


if __name__ == "__main__":
    main()
