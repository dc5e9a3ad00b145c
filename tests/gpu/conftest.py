"""What needs a GPU. Without one every test here is skipped, and says what is missing."""

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
        if here is not True:
            item.add_marker(pytest.mark.skip(reason=here))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """CuPy's pool; nearfar is told that nothing in it is free, so that it asks the driver.

    Parts of what earlier tests had left cannot be given back.
    """
    module = runtime.cupy()
    real, empty = module.get_default_memory_pool(), module.cuda.MemoryPool()
    monkeypatch.setattr(module, "get_default_memory_pool", lambda: empty)
    return real
