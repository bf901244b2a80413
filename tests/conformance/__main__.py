"""Prints what is wrong with a framework's cases, exceptions left out.

    python -m tests.conformance FRAMEWORK SIZE [OPERATOR ...] [--dtype DTYPE]

The tests check the small size, and of MXNet and NumPy the default one. What takes tens of minutes
and up to 20 GB of memory has this command only.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from opperf.frameworks import load
from tests.conformance.driver import cheaply, found_in, judge, planned
from tests.conformance.exceptions import without_exceptions


def main() -> int:
    """Returns 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("framework")
    parser.add_argument("size")
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--dtype", default="float32")
    asked = parser.parse_args()
    framework = load(asked.framework)
    legitimate = importlib.import_module(f"tests.conformance.legitimate.{asked.framework}")
    cases = planned(asked.framework, asked.size, tuple(asked.operators), asked.dtype)
    count = 0
    with cheaply(framework):
        for number, case in enumerate(cases, 1):
            print(
                f"\r\033[K{number}/{len(cases)} {case.label}", end="", file=sys.stderr, flush=True
            )
            found = found_in([judge(case, framework)])
            for lines in without_exceptions(found, legitimate.TABLE, ()).faults.values():
                count += 1
                print(f"\r\033[K{case.label} {case.id}: {'; '.join(lines)}", flush=True)
    print(f"\r\033[K{len(cases)} cases, {count} with faults", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
