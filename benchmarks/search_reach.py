"""Number of operators for which the search finds inputs without any rule.

Every operator of the registry is searched as if no rule applied to it. Prints the operators and the
names (an operator has several) with inputs, those whose outputs have no NaN, the numbers of
proposals and seconds, and the operators that end the process.

Run: python benchmarks/search_reach.py [FRAMEWORK]
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from opperf.execution.searching import make_trier
from opperf.model import Operator, Settings
from opperf.rules.search import SearchResult, search
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker

EXAMPLES = 12
"""Number of reasons in the output, the most frequent first."""


def share(operators: list[Operator], everything: list[Operator]) -> str:
    names = sum(len(operator.names) for operator in operators)
    total = sum(len(operator.names) for operator in everything)
    return f"{len(operators)} of {len(everything)} operators, {names} of {total} names"


def main() -> None:
    framework = sys.argv[1] if len(sys.argv) > 1 else "mxnet"
    with Worker(framework) as worker:
        operators = [one.operator for one in worker.listing().operators]
        settings = worker.resolve_selection(
            Selection(settings=Settings(device="", profiler=""))
        ).settings
        found: dict[str, SearchResult] = {}
        begun = time.perf_counter()
        for operator in operators:
            found[operator.name] = search(operator, make_trier(worker, operator, settings))
        elapsed_s = time.perf_counter() - begun
    taken = [operator for operator in operators if found[operator.name].arguments is not None]
    deadly = [operator.name for operator in operators if found[operator.name].deaths]
    proposals = sum(one.proposals for one in found.values())
    print(f"taken      {share(taken, operators)}")
    print(f"proposals  {proposals}, {elapsed_s / proposals * 1e3:.2f} ms each")
    print(f"time       {elapsed_s:.1f} s")
    print(f"deadly     {len(deadly)}: {', '.join(deadly)}")
    reasons = Counter(one.reason.rpartition(": ")[2][:80] for one in found.values() if one.reason)
    for reason, count in reasons.most_common(EXAMPLES):
        print(f"{count:4}  {reason}")
    print("not taken: " + " ".join(o.name for o in operators if o not in taken))


if __name__ == "__main__":
    main()
