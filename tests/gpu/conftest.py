"""Fixtures of tests that need a GPU; without one every test is skipped with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearfar.system.devices import runtime

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = runtime.available()
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.gpu)
        item.add_marker(pytest.mark.usefixtures("several_ranges"))
        if here is not True:
            item.add_marker(pytest.mark.skip(reason=here))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Provide CuPy's pool without free blocks, so that nearfar asks the driver.

    Parts of blocks that earlier tests left cannot be returned to the driver.
    """
    module = runtime.cupy()
    real, empty = module.get_default_memory_pool(), module.cuda.MemoryPool()
    monkeypatch.setattr(module, "get_default_memory_pool", lambda: empty)
    return real
