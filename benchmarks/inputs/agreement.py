"""How many operations each framework computes as their references in float64 do.

    python benchmarks/inputs/agreement.py [--framework NAME ...] [--all] [OPERATION ...]

Every case of size small of each operation that two or more of the installed frameworks have is
called once, its gradients too, in a process for each framework. `--all` is of operations of one
framework as well."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from opperf.frameworks import Framework, is_available, load
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.profilers import find_profilers
from opperf.instruments.verification.by_reference import verify_by_reference
from opperf.model import Case, Settings, Verification
from opperf.rules.engine import rules_module, uses_of
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

FRAMEWORKS = ("numpy", "torch", "mxnet", "jax")
SECONDS = 30
"""Of a case, after which it is given up."""
GOOD = ("PASS",)
NO_ANSWER = ("UNDECIDABLE", "VERIFIER_SKIPPED")


def operations_of(framework: Framework) -> dict[str, set[str]]:
    """Returns the operations of each operator, by its label."""
    table = rules_module(framework.rules).OPERATIONS
    found: dict[str, set[str]] = {}
    for operator in framework.operators():
        found[operator.label] = {use.operation for use, _ in uses_of(operator, table)}
    return found


def cases_of(framework: Framework, wanted: set[str]) -> Iterator[tuple[Case, set[str]]]:
    """Yields the cases of operators of these operations."""
    operations = operations_of(framework)
    settings = Settings(profiler=next(iter(find_profilers(framework))), verify="reference")
    selection = Selection(size="small", settings=settings, dtype_given=True)
    for case in plan(framework, selection).cases:
        own = operations.get(case.label, set())
        if own & wanted:
            yield case, own


def verified(case: Case, framework: Framework) -> Verification:
    """Returns the verification of a case; one that was not run if it takes too long or fails."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"it takes more than {SECONDS} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        with case_scope(case, framework):
            return verify_by_reference(PreparedCase(case, framework))
    except Exception as error:
        return Verification.not_run(f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)


def work(name: str, wanted: set[str]) -> None:
    """Prints a line of JSON for each case of a framework."""
    framework = load(name)
    for case, operations in cases_of(framework, wanted):
        found = verified(case, framework)
        line: dict[str, Any] = {"operations": sorted(operations & wanted), "label": case.label}
        line |= {"code": found.code.value, "line": found.line, "why": case.origin}
        line["gradient"] = "backward" in case.passes and found.method == "slope"
        print(json.dumps(line, default=str), flush=True)


def shared(names: list[str], least: int) -> set[str]:
    """Returns the operations that at least so many frameworks have."""
    having: dict[str, int] = defaultdict(int)
    for name in names:
        for operation in set().union(*operations_of(load(name)).values()):
            having[operation] += 1
    return {operation for operation, count in having.items() if count >= least}


def report(name: str, lines: list[dict[str, Any]]) -> None:
    """Prints how many operations of a framework agree, and each that does not."""
    codes: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        for operation in line["operations"]:
            codes[operation].add(line["code"])
    wrong = {one for one, own in codes.items() if own - {*GOOD, *NO_ANSWER}}
    right = {one for one, own in codes.items() if own & set(GOOD)} - wrong
    sloped = {one for line in lines if line["gradient"] for one in line["operations"]}
    print(
        f"\n{name}: {len(right)} of {len(codes)} operations agree, {len(sloped)} with gradients; "
        f"{len(wrong)} do not; of {len(codes) - len(right) - len(wrong)} no case tells"
    )
    told = set()
    for line in lines:
        is_known = line["code"] in GOOD and "known difference" in line["line"]
        if line["code"] not in (*GOOD, *NO_ANSWER) or is_known:
            text = f"  {', '.join(line['operations'])} ({line['label']}): {line['line'][:300]}"
            if text not in told:
                told.add(text)
                print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("operations", nargs="*")
    parser.add_argument("--framework", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work, set(asked.operations))
        return
    present = [name for name in FRAMEWORKS if is_available(name)]
    wanted = shared(present, 1 if asked.all else 2)
    wanted &= set(asked.operations) or wanted
    for name in (one for one in present if one in asked.framework):
        words = [sys.executable, __file__, "--work", name, "--", *sorted(wanted)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        report(name, lines)
        if done.returncode:
            print(f"  its process ended with {done.returncode}, after {len(lines)} cases")


if __name__ == "__main__":
    main()
