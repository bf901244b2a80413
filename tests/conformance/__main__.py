"""Prints what is wrong with a framework's cases, exceptions left out, and its counts by kind.

    python -m tests.conformance FRAMEWORK SIZE [OPERATOR ...] [--dtype DTYPE]

The tests check the small size, and the default one of MXNet, NumPy and a sample of PyTorch's and
JAX's operators. What takes tens of minutes has this command only.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter

from tests.conformance.exceptions import without_exceptions
from tests.conformance.judging import DOES_NOT_RUN
from tests.conformance.workers import Begun, Wanted, judgements

DTYPE = "float32"
"""What cases are of unless another dtype is asked for."""


def main() -> int:
    """Returns 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("framework")
    parser.add_argument("size")
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--dtype", default=DTYPE)
    asked = parser.parse_args()
    legitimate = importlib.import_module(f"tests.conformance.legitimate.{asked.framework}")
    table = (*legitimate.TABLE, *legitimate.BY_DTYPE.get(asked.dtype, ()))
    cases = with_faults = refused = 0
    kinds: Counter[str] = Counter()
    wanted = Wanted(asked.framework, asked.size, tuple(asked.operators), asked.dtype)
    for one in judgements(wanted):
        if isinstance(one, Begun):
            print(f"\r\033[K{one.place + 1}/{one.count} {one.label}", end="", file=sys.stderr)
            continue
        cases += 1
        faults = [each for each in one.found if without_exceptions([each], table, ()).faults]
        if asked.dtype != DTYPE and any(each.finding.kind == DOES_NOT_RUN for each in faults):
            # Most have no kernel of another dtype, which is no fault of their inputs.
            print(f"\r\033[K{one.case.label} {one.case.id}: {faults[0].finding}", flush=True)
            refused += 1
            continue
        kinds.update({f"{each.finding.kind}" for each in faults})
        if faults:
            with_faults += 1
            lines = "; ".join(str(each.finding) for each in faults)
            print(f"\r\033[K{one.case.label} {one.case.id}: {lines} ({one.case.why})", flush=True)
    counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(
        f"\r\033[K{cases} cases, {refused} do not run in {asked.dtype}, {with_faults} with faults: "
        f"{counts or 'none'}"
    )
    return int(with_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
