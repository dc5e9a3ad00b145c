"""List the methods that --method accepts, their origins, and whether they run on this machine."""

from __future__ import annotations

import argparse
from typing import Any

from nearfar.cli.arguments import add_device
from nearfar.cli.console import emit
from nearfar.cli.parser import flag
from nearfar.errors import OptionError, quoted

NAME = "methods"
CALLS = ("nearfar.registry.variants",)
HELP = "list the algorithms and whether they run here"
EXAMPLES = """\
nearfar methods
nearfar methods --device cpu --weights any
nearfar methods --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_device(parser, "only methods of this device", "cpu", "cuda")
    flag(parser, "--family FAMILY", "only methods of this family")
    text = "only methods for this problem"
    flag(parser, "--problem", text, choices=["sssp", "batch", "all_pairs"])
    text = "only methods for such weights ('any' accepts negative ones)"
    flag(parser, "--weights", text, choices=["nonnegative", "any", "equal"])
    flag(parser, "--available", "only methods that run on this machine")


def describe() -> list[dict[str, Any]]:
    """Return all variants, including unsafe ones, as plain data."""
    import dataclasses

    from nearfar.registry import variants

    found = []
    for v in variants(unsafe=True):
        here = v.available()
        found.append(
            {
                "id": v.id,
                "family": v.family,
                "device": v.device,
                "problems": sorted(v.problems),
                "paper": v.paper,
                "section": v.section,
                "weights": v.weights,
                "dtypes": sorted(v.dtypes),
                "options": [f.name for f in dataclasses.fields(v.options)],
                "summary": v.summary,
                "complexity": v.complexity,
                "unsafe": v.unsafe,
                "available": here is True,
                "reason": "" if here is True else here,
            }
        )
    return found


def run(args: argparse.Namespace) -> None:
    """List the methods."""
    everything = describe()
    families = sorted({v["family"] for v in everything})
    if args.family is not None and args.family not in families:
        raise OptionError(f"no family {quoted(args.family)}: there are {', '.join(families)}")
    found = [
        v
        for v in everything
        if (args.device is None or v["device"] == args.device)
        and (args.family is None or v["family"] == args.family)
        and (args.problem is None or args.problem in v["problems"])
        and (args.weights is None or v["weights"] == args.weights)
        and (not args.available or v["available"])
    ]
    emit(args, found, _table(found))


def _table(found: list[dict[str, Any]]) -> list[str]:
    width = max((len(v["id"]) for v in found), default=0)
    lines: list[str] = []
    family = None
    for v in found:
        if v["family"] != family:
            family = v["family"]
            lines += ([""] if lines else []) + [f"{family}"]
        where = ", ".join(part for part in (v["paper"], v["section"]) if part)
        lines.append(
            f"  {v['id']:<{width}}  {v['weights']:<11}  {v['summary']}"
            + (f" [{where}]" if where else "")
            + (" (wrong by design)" if v["unsafe"] else "")
        )
    # All methods of a device usually share one reason: print it once.
    reasons = sorted({v["reason"] for v in found if not v["available"]})
    for reason in reasons:
        count = sum(v["reason"] == reason for v in found)
        lines += ["", f"not available here ({count} methods): {reason}"]
    return lines
