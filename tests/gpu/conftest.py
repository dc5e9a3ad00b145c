"""What needs a GPU. Without one every test here is skipped, and says what is missing."""

from __future__ import annotations

from pathlib import Path

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
