"""Report what works in this installation, possible speedups, and reasons of failures.

Shows versions, hardware, caches and optional packages, then solves a small graph on each device and
proves the answers. Exits with 0 if the CPU methods work.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
import time
from collections.abc import Mapping
from typing import Any

import numpy

import nearfar
from nearfar.cli.console import Exit, duration, emit, rows
from nearfar.cli.parser import flag
from nearfar.system.host import processor_name, total_memory
from nearfar.system.memory import free_memory
from nearfar.system.threads import default_threads

NAME = "doctor"
HELP = "check the installation"
EXAMPLES = """\
nearfar doctor
nearfar doctor --warm
nearfar doctor --json"""

# Package to look for, distribution that carries it, extra that installs it, and its purpose.
_OPTIONAL = (
    ("cupy", "cuda12 or cuda13", "CUDA methods"),
    ("networkx", "networkx", "NetworkX graphs and backend"),
    ("pyarrow", "tables", "CSV, Parquet and Arrow tables"),
    ("zstandard", "zstd", ".zst files"),
    ("osmium", "osm", "OpenStreetMap files"),
    ("matplotlib", "plot", "maps and plots"),
    ("rasterio", "raster", "rasters in files"),
    ("shapely", "geo", "maps of areas (--polygons)"),
    ("geopandas", "geo", "GeoPackages and tables of streets"),
    ("distributed", "dask", "the workers of a Dask cluster"),
    ("zarr", "dask", "rows in chunks (.zarr)"),
    ("sklearn", "sklearn", "Isomap and neighbours along a graph"),
    ("argcomplete", "completion", "completion in shells"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument of this command."""
    flag(parser, "--warm", "solve common requests on the GPU, so that their kernels are cached")


def run(args: argparse.Namespace) -> int:
    """Collect, test and report."""
    facts: dict[str, Any] = {
        "versions": _versions(),
        "machine": _machine(),
        "cuda": _cuda(),
        "warmed": _warmed() if args.warm else None,
        "caches": _caches(),
        "optional": _optional(),
        "self_test": _self_test(),
    }
    facts["faster"] = _faster(facts)
    works = facts["self_test"]["cpu"]["passed"]
    facts["healthy"] = works
    emit(args, facts, _report(facts))
    return Exit.OK if works else Exit.UNAVAILABLE


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Return the installed distributions by import name."""
    return importlib.metadata.packages_distributions()


def _version_of(package: str) -> str | None:
    """Return the version of an installed package by its import name; None without it."""
    if importlib.util.find_spec(package) is None:
        return None
    owners = _distributions().get(package, [package])
    try:
        return importlib.metadata.version(owners[0])
    except importlib.metadata.PackageNotFoundError:
        return "unknown version"


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {
        "nearfar": nearfar.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": _version_of("scipy"),
        "platform": platform.platform(),
    }
    try:
        from nearfar import _cpu
    except ImportError as error:
        found["module"] = None
        found["module_error"] = str(error)
    else:
        found["module"] = _cpu.__file__
        found["compiler"] = _cpu.compiler
        found["instruction_set"] = _cpu.isa()
        found["instruction_sets"] = _cpu.isa_levels()
        found["processor_level"] = _cpu.processor_level()
        found["free_threaded"] = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    return found


def _machine() -> dict[str, Any]:
    return {
        "cores": default_threads(),
        "cores_of_machine": os.cpu_count(),
        "architecture": platform.machine(),
        "processor": processor_name(),
        "memory": total_memory(),
        "memory_free": free_memory(),
    }


def _caches() -> dict[str, Any]:
    """Return the contents of the cache: compiled kernels, measured speeds of this processor."""
    from nearfar.choose import machine
    from nearfar.system import cache

    folder = cache.folder()
    sizes: list[int] = []
    with contextlib.suppress(OSError):
        sizes = [entry.stat().st_size for entry in folder.rglob("*") if entry.is_file()]
    return {
        "folder": str(folder),
        "files": len(sizes),
        "bytes": sum(sizes),
        "calibrated": machine.processor() in machine.stored(),
    }


def _faster(facts: dict[str, Any]) -> list[str]:
    """List possible speedups of this installation, most useful first."""
    versions, machine, cuda = facts["versions"], facts["machine"], facts["cuda"]
    installed = {item["package"] for item in facts["optional"] if item["version"] is not None}
    found = []
    if versions["module"] is not None:
        level, best = versions["instruction_set"], versions["processor_level"]
        if level != best and best in versions["instruction_sets"]:
            found.append(f"NEARFAR_CPU_LEVEL keeps the loops at {level}: unset it to use {best}")
        elif level != best:
            found.append(
                f"the module was built for {level}, and this processor has {best}: build it here, "
                "pip install --no-binary nearfar nearfar"
            )
    if machine["cores"] < (machine["cores_of_machine"] or 0):
        found.append(
            f"this process may use {machine['cores']} of {machine['cores_of_machine']} cores "
            "(taskset, a container's processors or its quota of their time)"
        )
    if "cupy" not in installed and shutil.which("nvidia-smi") is not None:
        found.append(
            "an NVIDIA driver is installed and CuPy is not: pip install 'nearfar[cuda13]' "
            "(cuda12 for older drivers)"
        )
    if cuda["cache"] is None and cuda["available"]:
        found.append("kernels are compiled in each process: set NEARFAR_CACHE to a folder")
    if not facts["caches"]["calibrated"]:
        found.append("auto uses speeds measured on another machine: nearfar tune measures this one")
    return found


def _cuda() -> dict[str, Any]:
    from nearfar.system.devices import compiler, runtime

    here = runtime.available()
    found: dict[str, Any] = {
        "available": here is True,
        "reason": "" if here is True else here,
        "cupy": _version_of("cupy"),
        "visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
    try:
        found["cache"] = str(compiler.cache_directory())
    except Exception as error:
        found["cache"] = None
        found["cache_error"] = str(error)
    nvrtc = runtime.cupy_nvrtc()
    found["nvrtc"] = nvrtc.version if nvrtc is not None else None
    if here is True:
        device = runtime.device()
        free, total = runtime.memory()
        found |= {
            "devices": runtime.device_count(),
            "device": device.name,
            "architecture": device.arch,
            "driver_cuda": device.driver,
            "multiprocessors": device.multiprocessors,
            "memory": total,
            "memory_free": free,
        }
    return found


def _optional() -> list[dict[str, Any]]:
    return [
        {"package": package, "version": _version_of(package), "extra": extra, "for": purpose}
        for package, extra, purpose in _OPTIONAL
    ]


def _self_test() -> dict[str, Any]:
    """Solve one small graph on each device and prove the answers."""
    found: dict[str, Any] = {}
    for device in ("cpu", "cuda"):
        began = time.perf_counter()
        try:
            import nearfar
            from nearfar.system.devices import runtime

            here = True if device == "cpu" else runtime.available()
            if here is not True:
                found[device] = {"passed": False, "tried": False, "reason": here}
                continue
            graph = nearfar.generate("grid", rows=40, columns=50)
            paths = nearfar.sssp(graph, 0, device=device, predecessors=True)
            nearfar.verify(graph, paths)
            prepared = nearfar.prepare(graph, device=device)
            rows_found = nearfar.distances(prepared, [0, 7, 0], device=device)
            if not (rows_found[[0, 2]] == paths.distances).all():
                raise nearfar.errors.SolverError("rows of a prepared graph are wrong")
            sums = nearfar.distances(prepared, [0, 7, 0], reduce="sum", device=device)
            if not (sums[[0, 2]] == paths.distances[paths.reachable].sum(dtype="int64")).all():
                raise nearfar.errors.SolverError("sums of a prepared graph's rows are wrong")
        except Exception as error:
            found[device] = {
                "passed": False,
                "tried": True,
                "reason": f"{type(error).__name__}: {error}",
            }
        else:
            found[device] = {
                "passed": True,
                "tried": True,
                "engine": paths.engine,
                "seconds": time.perf_counter() - began,
            }
    return found


#: Graphs whose solves compile the common kernels: one with long and one with short paths.
_COMMON: tuple[tuple[str, dict[str, Any]], ...] = (
    ("road_like", {"vertices": 60_000}),
    ("uniform_random", {"vertices": 60_000, "degree": 8}),
)


def _warmed() -> dict[str, Any]:
    """Solve common requests on the GPU; return the number of cached kernel files afterwards."""
    from nearfar.system.devices import compiler, runtime

    here = runtime.available()
    if here is not True:
        raise nearfar.errors.VariantUnavailable(here)
    began = time.perf_counter()
    for family, size in _COMMON:
        graph = nearfar.generate(family, **size)
        some = range(0, graph.n_vertices, max(graph.n_vertices // 256, 1))
        for made in (
            graph,
            graph.astype("float32"),
            graph.astype("float64"),
            graph.without_weights(),
        ):
            nearfar.sssp(made, 0, device="cuda", predecessors=True)
            nearfar.distances(made, some, device="cuda")
            nearfar.distances(made, some, device="cuda", reduce="mean")
    compiler.finish_background()
    files = len(list(compiler.cache_directory().glob("*.cubin")))
    return {"files": files, "seconds": time.perf_counter() - began}


def _gib(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 2**30:.1f} GiB"


def _report(facts: dict[str, Any]) -> list[str]:
    versions, machine, cuda = facts["versions"], facts["machine"], facts["cuda"]
    pairs: list[tuple[str, object]] = [
        ("nearfar", f"{versions['nearfar']}, Python {versions['python']}, {versions['platform']}"),
        ("libraries", f"NumPy {versions['numpy']}, SciPy {versions['scipy']}"),
    ]
    if versions["module"] is None:
        pairs.append(("CPU module", f"MISSING: {versions['module_error']}"))
    else:
        levels = ", ".join(versions["instruction_sets"])
        level = f"instruction set {versions['instruction_set']} of {levels}"
        pairs.append(("CPU module", f"built by {versions['compiler']}, {level}"))
    pairs += [
        ("processor", f"{machine['processor']} ({machine['architecture']})"),
        ("threads", f"{machine['cores']} of {machine['cores_of_machine']} cores"),
        ("memory", f"{_gib(machine['memory'])}, {_gib(machine['memory_free'])} free"),
    ]
    if cuda["available"]:
        pairs += [
            ("GPU", f"{cuda['device']} ({cuda['architecture']}), {cuda['devices']} in all"),
            ("GPU memory", f"{_gib(cuda['memory'])}, {_gib(cuda['memory_free'])} free"),
            ("CUDA", f"driver {cuda['driver_cuda']}, NVRTC {cuda['nvrtc']}, CuPy {cuda['cupy']}"),
        ]
    else:
        pairs.append(("GPU", cuda["reason"]))
    pairs.append(("kernel cache", cuda["cache"] or f"unusable: {cuda['cache_error']}"))
    if facts["warmed"] is not None:
        warmed = facts["warmed"]
        pairs.append(("warmed", f"{warmed['files']} kernels in {duration(warmed['seconds'])}"))
    caches = facts["caches"]
    size = f"{caches['files']} files, {caches['bytes'] / 2**20:.1f} MiB"
    pairs.append(("cache", f"{caches['folder']}: {size}"))
    lines = rows(pairs)
    lines += ["", "optional packages"]
    for item in facts["optional"]:
        if item["version"] is None:
            state = f"missing ({item['for']}; extra {item['extra']})"
        else:
            state = f"{item['version']} ({item['for']})"
        lines.append(f"  {item['package']:<12}{state}")
    lines += ["", "self-test"]
    for device, result in facts["self_test"].items():
        if result["passed"]:
            state = f"passed: {result['engine']} proved in {duration(result['seconds'])}"
        else:
            state = f"{'FAILED' if result['tried'] else 'not run'}: {result['reason']}"
        lines.append(f"  {device:<12}{state}")
    if facts["faster"]:
        lines += ["", "possible speedups", *(f"  {item}" for item in facts["faster"])]
    if not facts["healthy"]:
        again = f"{sys.executable} -m pip install --force-reinstall nearfar"
        lines += ["", f"The CPU methods do not work; reinstall: {again}"]
    return lines
