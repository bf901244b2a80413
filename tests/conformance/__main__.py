"""Prints what is wrong with a framework's cases, exceptions left out, and its counts by kind.

    python -m tests.conformance FRAMEWORK SIZE [OPERATOR ...] [--dtype DTYPE]

The tests check the small size, and the default one of NumPy and of a sample of the others'
operators. What takes tens of minutes has this command only.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from opperf.errors import OpperfError
from opperf.rules.sizes import PRESETS
from tests.conformance.driver import ROWS_OF, weak_rows
from tests.conformance.exceptions import without_exceptions
from tests.conformance.frameworks import legitimate
from tests.conformance.judging import DOES_NOT_RUN
from tests.conformance.workers import Begun, Wanted, judgements

DTYPE = "float32"
"""What cases are of unless another dtype is asked for."""


def main() -> int:
    """Returns 1 if anything is wrong, and 2 for what there is not: a framework, an operator."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("framework")
    parser.add_argument("size", choices=PRESETS)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--dtype", default=DTYPE)
    asked = parser.parse_args()
    try:
        return _check(asked)
    except OpperfError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def _check(asked: argparse.Namespace) -> int:
    excused = legitimate(asked.framework)
    table = (*excused.table, *excused.by_dtype.get(asked.dtype, ()))
    cases = with_faults = refused = 0
    kinds: Counter[str] = Counter()
    wanted = Wanted(asked.framework, asked.size, tuple(asked.operators), asked.dtype)
    for one in judgements(wanted):
        if isinstance(one, Begun):
            print(f"\r\033[K{one.place + 1}/{one.count} {one.case.label}", end="", file=sys.stderr)
            continue
        case = one.begun.case
        cases += 1
        faults = [each for each in one.found if without_exceptions([each], table, ()).faults]
        if asked.dtype != DTYPE and any(each.finding.kind == DOES_NOT_RUN for each in faults):
            # Most have no kernel of another dtype, which is no fault of their inputs.
            print(f"\r\033[K{case.label} {case.id}: {faults[0].finding}", flush=True)
            refused += 1
            continue
        kinds.update({f"{each.finding.kind}" for each in faults})
        if faults:
            with_faults += 1
            lines = "; ".join(str(each.finding) for each in faults)
            print(f"\r\033[K{case.label} {case.id}: {lines} ({case.why})", flush=True)
    if asked.size == ROWS_OF and asked.dtype == DTYPE:
        for found in weak_rows(asked.framework, tuple(asked.operators)):
            for lines in without_exceptions([found], table, ()).faults.values():
                kinds.update([found.finding.kind])
                print(f"\r\033[K{found.case.label} {found.case.id}: {lines[0]}", flush=True)
    counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(
        f"\r\033[K{cases} cases, {refused} do not run in {asked.dtype}, {with_faults} with faults: "
        f"{counts or 'none'}"
    )
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
