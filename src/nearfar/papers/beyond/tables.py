"""Tables of the experiment ``beyond``: times, peers, the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.lab.experiments.experiment import Column, Done, Table


def tables_of(done: Sequence[Done], device: str) -> list[Table]:
    """Return the tables of times, and of the roofline."""
    gpu = [_devices(done)] if device == "cuda" else []
    peers = [_beside_peers(done)] if any("peers" in one.result for one in done) else []
    return [*gpu, *peers, _roofline(done, device)]


def peer_times(one: Done) -> dict[str, float]:
    """Return median seconds of the peers and of ``auto``, by label, from their alternating run."""
    rows = one.result.get("peers", {"results": []})["results"]
    return {r["contender"]: r["median_seconds"] for r in rows if r.get("median_seconds")}


def own_times(one: Done) -> dict[str, float]:
    """Return median seconds of this project's engines, by label."""
    return {label: c["median_seconds"] for label, c in one.result["cases"].items()}


def fastest(one: Done, device: str) -> float | None:
    """Return the seconds of nearfar's best engine on the device of the roofline."""
    if device == "cuda":
        return own_times(one).get("nearfar, GPU")
    mine = [s for label, s in peer_times(one).items() if label.startswith("nearfar")]
    return min(mine) if mine else None


def _beside_peers(done: Sequence[Done]) -> Table:
    done = [one for one in done if "peers" in one.result]
    times = [peer_times(one) for one in done]
    labels = list(dict.fromkeys(label for found in times for label in found))
    rows: list[list[Any]] = []
    for one, found in zip(done, times, strict=True):
        milliseconds = [found[x] * 1e3 if x in found else None for x in labels]
        rows.append([one.key, one.result["n"], one.result["m"], *milliseconds])
    columns = [Column("graph"), Column("vertices"), Column("edges")]
    columns += [Column(label, "ms") for label in labels]
    left = {
        r["name"]: r["skipped"]
        for one in done
        for r in one.result["peers"]["results"]
        if "skipped" in r
    }
    out = "; ".join(f"{name}: {why}" for name, why in left.items())
    caption = "Median of interleaved rounds in one process; answers compared with a proven one."
    return Table(
        "peers", "Every peer", caption + (f" Left out: {out}." if out else ""), columns, rows
    )


def _devices(done: Sequence[Done]) -> Table:
    labels = list(dict.fromkeys(label for one in done for label in own_times(one)))
    rows: list[list[Any]] = []
    for one in done:
        found = own_times(one)
        one_core, gpu = found.get("nearfar, 1 core"), found.get("nearfar, GPU")
        line = [one.key, one.result["n"], one.result["m"]]
        line += [found[x] * 1e3 if x in found else None for x in labels]
        rows.append([*line, one_core / gpu if one_core and gpu else None])
    columns = [Column("graph"), Column("vertices"), Column("edges")]
    columns += [*(Column(x, "ms") for x in labels), Column("GPU over one core", "times")]
    caption = (
        "The GPU's time is the device's, graph and answer on it, once the engine has settled on a "
        "form for the graph; the cores are its host's."
    )
    return Table("devices", "The best engines", caption, columns, rows)


def _looks(one: Done) -> float | None:
    """Return the mean number of times that the GPU engine read an edge."""
    looked = one.result["cases"].get("nearfar, GPU", {}).get("counters", {}).get("edges_relaxed")
    return looked / max(one.result["edges"], 1) if looked else None


def _roofline(done: Sequence[Done], device: str) -> Table:
    rows: list[list[Any]] = []
    for one in done:
        result, seconds = one.result, fastest(one, device)
        stream, gather = result["bounds"]["stream"], result["bounds"]["gather"]
        line: list[Any] = [one.key, result["bytes"] / 1e6, result["rates"]["copy_bytes"] / 1e9]
        line += [stream * 1e3, result["rates"]["gathers"] / 1e9, gather * 1e3]
        share = max(stream, gather) / seconds if seconds else None
        line += [seconds * 1e3 if seconds else None, share]
        rows.append([*line, _looks(one)] if device == "cuda" else line)
    columns = [Column("graph"), Column("bytes once", "MB"), Column("copy", "GB/s")]
    columns += [Column("stream bound", "ms"), Column("random reads", "G/s")]
    columns += [Column("gather bound", "ms"), Column("measured", "ms"), Column("bound / measured")]
    if device == "cuda":
        columns.append(Column("looks per edge"))
    where = "one core" if device == "cpu" else "the device"
    caption = (
        f"Rates of {where}, measured by the same run; bound / measured takes the greater bound, "
        "and is above 1 if several cores exceed one core's rate or caches help more than in the "
        "micro-benchmark."
    )
    if device == "cuda":
        caption += (
            " Looks per edge: edges read over edges that must be read; both bounds count one."
        )
    return Table("roofline", "Roofline", caption, columns, rows)
