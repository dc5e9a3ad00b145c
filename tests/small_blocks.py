"""Small blocks on the emulated device, which takes a block's threads one after the other."""

from __future__ import annotations

import pytest

__all__ = ["small_blocks"]


@pytest.fixture(autouse=True)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two to eight warps per block; tests/gpu launches the shapes that users get."""
    if "emulated_gpu" not in request.fixturenames:
        return
    from nearfar.algorithms.batched import cuda as batched
    from nearfar.algorithms.breadth_first import cuda as breadth_first
    from nearfar.algorithms.near_far import partitioned
    from nearfar.algorithms.near_far.one_launch import driver, ranges
    from nearfar.measures.centrality import device_shares

    for engine in (driver, ranges):
        shape = {"BLOCK_THREADS": 128, "BLOCKS_EACH": 1}
        monkeypatch.setattr(engine, "_launch_shape", lambda *_, shape=shape, **__: shape)
    for module, name, value in (
        (partitioned, "_THREADS", 128),
        (breadth_first, "_BLOCK_THREADS", 256),
        (batched, "LEAST_THREADS", 64),
        (batched, "RESIDENT", 512),
        (batched, "_GLOBAL_THREADS", 128),
        (device_shares, "_THREADS", 64),
        (device_shares, "_BLOCKS_EACH", 1),
    ):
        monkeypatch.setattr(module, name, value)
