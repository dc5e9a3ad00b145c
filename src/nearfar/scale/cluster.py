"""Connection to a Dask cluster, and checks of its workers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nearfar
from nearfar.errors import ClusterError, MissingDependencyError, listed, quoted

_WAIT = 10  # seconds to wait for the scheduler
_VERSION = (
    "__import__('nearfar').__version__"
    " if __import__('importlib.util').util.find_spec('nearfar') else None"
)


@dataclass(frozen=True)
class Workers:
    """Resources of all workers."""

    threads: int  # number of blocks that all workers solve at a time
    memory: int  # bytes available to one block on the worker with the least memory


def connect(address: str, timeout: float = _WAIT) -> Any:
    """Return a Dask client of the cluster at an address.

    Parameters
    ----------
    address : str
        Address printed by the scheduler, such as ``"tcp://10.0.0.1:8786"``.
    timeout : float
        Seconds to wait for the scheduler.

    Returns
    -------
    distributed.Client

    Raises
    ------
    ClusterError
        If ``address`` is not an address, or no scheduler responds at it.
    MissingDependencyError
        Without Dask.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError("a cluster needs Dask: pip install 'nearfar[dask]'") from None
    if not re.search(r"://.|.:\d+$", address):  # Dask would wait, then fail obscurely
        raise ClusterError(
            f"{quoted(address)} is not the address of a cluster: give the address that the "
            "scheduler prints, such as tcp://10.0.0.1:8786"
        )
    try:
        return Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"no cluster answers at {address}: start one with `dask scheduler` and `dask worker`, "
            "or give the address that its scheduler prints"
        ) from error


@contextlib.contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Yield the given client, or one for an address, which is closed at the end."""
    if not isinstance(client, str):
        if not hasattr(client, "scheduler_info"):
            raise ClusterError(
                f"client is {quoted(client)}: give a distributed.Client, or the address of a "
                "scheduler"
            )
        yield client
        return
    made = connect(client)
    try:
        yield made
    finally:
        made.close()


def check_workers(client: Any, resources: dict[str, float] | None = None) -> Workers:
    """Check the workers and return their resources; only those with ``resources`` are counted."""
    # Sent as text, which also runs on workers without nearfar or with another Python version.
    # Workers that have just disconnected are ignored.
    versions: dict[str, str | None] = client.run(eval, _VERSION, on_error="ignore")
    known = client.scheduler_info(n_workers=-1)["workers"]
    found = {at: version for at, version in versions.items() if at in known}
    if not found:
        raise ClusterError(
            f"the cluster at {client.scheduler.address} has no workers: start some with "
            "`dask worker`"
        )
    without = sorted(worker for worker, version in found.items() if version is None)
    if without:
        raise ClusterError(
            f"nearfar is not installed on {_workers(without)}: run pip install "
            f"'nearfar[dask]=={nearfar.__version__}' on each"
        )
    others = sorted(worker for worker, version in found.items() if version != nearfar.__version__)
    if others:
        raise ClusterError(
            f"nearfar is {found[others[0]]} on {_workers(others)}, but {nearfar.__version__} on "
            "the client: install the same version everywhere"
        )
    wanted = resources or {}
    serving = [
        known[at]
        for at in found
        if all(known[at].get("resources", {}).get(name, 0) >= much for name, much in wanted.items())
    ]
    if not serving:
        flags = " ".join(f"{name}={much:g}" for name, much in wanted.items())
        raise ClusterError(
            f"no worker has the resources that a block needs: start some with `dask worker "
            f'--resources "{flags}"`, or leave out resources='
        )
    memory = min(int(w["memory_limit"]) // max(int(w["nthreads"]), 1) for w in serving)
    return Workers(sum(int(w["nthreads"]) for w in serving), memory or 1 << 32)


def _workers(addresses: list[str]) -> str:
    return f"worker{'s' * (len(addresses) > 1)} {listed(addresses)}"
