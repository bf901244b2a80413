"""Times the planning of a registry's operators by their names, beside the same plan without names.

Run: python benchmarks/cost/planning_by_name.py [FRAMEWORK]
"""

from __future__ import annotations

import sys
import time

from opperf.frameworks import load
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection


def main() -> None:
    framework = load(sys.argv[1] if len(sys.argv) > 1 else "torch")
    usual = [operator.label for operator in framework.operators() if operator.is_usual]
    # What the first plan imports and keeps is nobody's time.
    plan(framework, Selection(size="small"))
    taken = {}
    for what, patterns in (("without names", ()), ("by name", tuple(usual))):
        begin = time.process_time()
        made = plan(framework, Selection(patterns=patterns, size="small"))
        taken[what] = time.process_time() - begin
        print(f"{what}: {len(made.cases):,} cases in {taken[what]:.2f} s of processor time")
    ratio = taken["by name"] / taken["without names"]
    print(f"{len(usual):,} names take {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
