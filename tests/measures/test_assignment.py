"""Traffic assignment as the how-to has it, on networks whose flows are known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar.formats import read_flows, read_traffic
from nearfar.measures import edge_loads
from tests.datafiles import data_path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "assign-traffic.md"


def page_functions(town: Any, fixed: Any = 0.0) -> dict[str, Any]:
    """The functions that the page defines, for another network."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.M)
    names: dict[str, Any] = {"np": np, "edge_loads": edge_loads, "town": town}
    first = re.sub(r"^town = .*$", "", blocks[0], flags=re.M)
    exec(first, names)
    names["free"] = names["free"] + fixed
    for block in blocks[1:3]:
        exec(block[: block.index("\nflow, gap")], names)
    return names


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "close"), [("SiouxFalls", 0.002), ("Anaheim", 0.01), ("ChicagoSketch", 0.01)]
)
def test_conjugate_frank_wolfe_finds_the_known_flows(name: str, close: float) -> None:
    town = read_traffic(*(data_path(f"tntp/{name}_{kind}.tntp.xz") for kind in ("net", "trips")))
    fixed: Any = 0.0
    if name == "ChicagoSketch":  # its costs have miles and tolls in them
        fixed = 0.04 * town.links["length"] + 0.02 * town.links["toll"]
    page = page_functions(town, fixed)
    flow, gap, rounds = page["conjugate_frank_wolfe"](1e-4)
    assert gap <= 1e-4
    assert rounds < 400
    known, costs = read_flows(data_path(f"tntp/{name}_flow.tntp.xz"), town.graph)
    assert np.abs(flow - known).sum() / known.sum() < close
    assert flow @ page["times"](flow) == pytest.approx(known @ costs, rel=1e-3)


@pytest.mark.data
def test_successive_averages_come_nearer() -> None:
    town = read_traffic(
        *(data_path(f"tntp/SiouxFalls_{kind}.tntp.xz") for kind in ("net", "trips"))
    )
    averages = page_functions(town)["averages"]
    gaps = [averages(0, most)[1] for most in (10, 100, 1000)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-3
