"""Command line: ``python -m tests.fuzz --count 100000 --seed 7``; exit status 1 for findings.

``--show CASE`` writes one case's bytes to standard output.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.fuzz.driver import fuzz


def main() -> int:
    """Parse and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="cases (default: 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", default="", metavar="NAME", help="kinds that begin so")
    parser.add_argument("--seconds", type=float, default=20, help="for one case")
    parser.add_argument("--show", type=int, metavar="CASE", help="write a case and end")
    args = parser.parse_args()
    if args.show is not None:
        from tests.fuzz.targets import targets
        from tests.fuzz.worker import case

        with tempfile.TemporaryDirectory() as folder:
            target, data, _ = case(targets(Path(folder), only=args.only), args.seed, args.show)
        print(target.name, file=sys.stderr)
        sys.stdout.buffer.write(data)
        return 0
    outcome = fuzz(args.count, args.seed, first=args.first, seconds=args.seconds, only=args.only)
    print(f"{outcome.parsed} cases, {outcome.refused} refused, {len(outcome.findings)} findings")
    for found in outcome.findings:
        print(f"\ncase {found['case']} ({found['target']}):\n{found['what']}")
    kinds = Counter(found["what"].strip().splitlines()[-1][:100] for found in outcome.findings)
    for what, count in kinds.most_common():
        print(f"{count:6} {what}")
    return bool(outcome.findings)


sys.exit(main())
