"""The command: see the package."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import benchmarks.inputs.option_scan as package
from benchmarks.inputs.option_scan.confirm import Pairs, begin, confirm, is_complete
from benchmarks.inputs.option_scan.report import refused_table, screened_table, summary, table
from benchmarks.inputs.option_scan.results import Done, Results, Scan
from benchmarks.inputs.option_scan.screen import Screen, Screened, candidates
from benchmarks.inputs.option_scan.variants import EXCLUDED, Variant, variants
from opperf.comparison.ab.blocks import Start
from opperf.errors import OpperfError
from opperf.frameworks import Framework, load
from opperf.machine.pinning import AUTO, Cpus, Pinning
from opperf.model import Case, Operator, Settings
from opperf.results.text import duration, terminal_width
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker

SCREEN_SHARE = 0.6
"""Share of the budget after which no further variant is screened: what was found is confirmed in
the rest."""

EVERY_S = 10.0
"""Seconds between two lines of progress."""


Say = Callable[[str], None]


def planned(framework: Framework, scan: Scan) -> list[tuple[Operator, list[Variant]]]:
    """Returns the variants of every operator of a scan."""
    operators = {operator.name: operator for operator in framework.operators()}
    cases: dict[str, list[Case]] = {}
    for case in plan(framework, scan.selection).cases:
        cases.setdefault(case.label, []).append(case)

    def document(operator: Operator) -> str:
        return framework.function(cases[operator.name][0].target).__doc__ or ""

    most, phases = scan.configurations, framework.gradients.supported
    return [
        (operators[name], variants(operators[name], own, most, phases, document))
        for name, own in cases.items()
        if name in operators
    ]


class Scanner:
    """Screens and confirms within a time. `screening` and `confirming` make the workers."""

    def __init__(
        self,
        results: Results,
        screening: Callable[[], Worker],
        confirming: Start,
        budget_s: float,
        say: Say,
    ) -> None:
        self._results, self._budget_s, self._say = results, budget_s, say
        self._screening, self._confirming = screening, confirming
        self._begun = time.monotonic()

    def run(self, work: Sequence[tuple[Operator, list[Variant]]]) -> bool:
        """Scans what the file does not have yet; whether it is complete."""
        results = self._results
        listed = [(one, partial(_first, one, operator)) for operator, own in work for one in own]
        operators = sum(bool(own) for _, own in work)
        self._say(f"{len(listed)} variants of {operators} operators")
        complete = self._screen(1, listed, SCREEN_SHARE)
        suspects = [one for one in results.of_process(1).values() if one.suspected]
        again = [(one.variant, partial(_again, one)) for one in suspects]
        complete &= self._screen(2, again, 1.0)
        complete &= self._confirm()
        if complete:
            results.add(Done(self._spent_s()))
        return complete

    def _spent_s(self) -> float:
        return time.monotonic() - self._begun

    def _may_go_on(self, share: float = 1.0) -> bool:
        return self._spent_s() < share * self._budget_s

    def _screen(
        self,
        process: int,
        listed: Sequence[tuple[Variant, Callable[[Screen], Screened]]],
        share: float,
    ) -> bool:
        """Screens variants in one process, within a share of the budget; whether all are."""
        have = self._results.of_process(process)
        left = [(variant, measured) for variant, measured in listed if variant.key not in have]
        said_s = -math.inf
        with self._screening() as worker:
            screen = Screen(worker)
            for number, (variant, measured) in enumerate(left):
                if not self._may_go_on(share):
                    return False
                if self._spent_s() - said_s > EVERY_S:
                    said_s = self._spent_s()
                    self._say(
                        f"screening, process {process}: {number}/{len(left)} "
                        f"{variant.case.label}, {duration(said_s)} elapsed"
                    )
                self._results.add(measured(screen))
        return True

    def _confirm(self) -> bool:
        """Confirms the candidates, those of an interrupted round first; whether all are."""
        results = self._results
        while True:
            if not results.rounds or is_complete(results.rounds[-1].session):
                started = {name for one in results.rounds for name in one.pairs.passes}
                found = candidates(results.screened).items()
                new = {name: passes for name, passes in found if name not in started}
                if not new:
                    return True
                pairs = Pairs(new)
                # The session first: a round that is in the file has one.
                results.next_session.unlink(missing_ok=True)
                begin(results.next_session, pairs, results.of_process(1))
                results.add(pairs)
            if not self._may_go_on():
                return False
            pairs, path = results.rounds[-1]
            self._say(
                f"confirming {len(pairs.passes)} variants, {duration(self._spent_s())} elapsed"
            )
            confirm(path, self._confirming, self._may_go_on)


def _first(variant: Variant, operator: Operator, screen: Screen) -> Screened:
    return screen.first(variant, operator)


def _again(earlier: Screened, screen: Screen) -> Screened:
    return screen.again(earlier)


def read_arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(package.__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON lines; an interrupted scan goes on")
    parser.add_argument("--framework", default="mxnet")
    parser.add_argument("--operators", nargs="+", default=[], help="names or patterns; all")
    parser.add_argument("--budget", type=float, default=30.0, help="minutes")
    parser.add_argument("--configurations", type=int, default=3, help="of an operator, at most")
    parser.add_argument("--size", default="default")
    parser.add_argument("--profiler", default="", help="the framework's first")
    parser.add_argument("--cpus", default=AUTO, help="one core; by default the quietest")
    parser.add_argument("--report", action="store_true", help="show what the file has, only")
    parser.add_argument("--refused", action="store_true", help="show what was not accepted, too")
    parser.add_argument("--screened", action="store_true", help="show all screened ratios, too")
    return parser.parse_args(words)


def header_of(arguments: argparse.Namespace, framework: Framework) -> Scan:
    """What the options choose."""
    settings = Settings(device="", profiler=arguments.profiler, threads=1, memory=False)
    selection = Selection(
        patterns=tuple(arguments.operators), size=arguments.size, settings=settings
    )
    resolved = resolve_selection(selection, partial(resolve, framework))
    return Scan(1, framework.name, framework.version(), resolved, arguments.configurations)


def worker(framework: str, cpus: Cpus, reference_work: bool) -> Worker:
    """Returns a worker of one thread."""
    return Worker(
        framework, Settings(threads=1, memory=False), reference_work=reference_work, cpus=cpus
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(arguments: argparse.Namespace) -> bool:
    """Scans what the options choose; whether it is complete."""
    framework = load(arguments.framework)
    header = header_of(arguments, framework)
    with Pinning(arguments.cpus) as pinning, Results.open(arguments.file, header) as results:
        cpus = pinning.choose(1)
        pinning.keep_off(cpus)
        make = partial(worker, framework.name, cpus)

        def confirming(arm: str) -> Worker:
            return make(reference_work=True)

        say("not tried: " + ", ".join(f"{name} ({why})" for name, why in EXCLUDED.items()))
        scanner = Scanner(
            results, partial(make, reference_work=False), confirming, 60 * arguments.budget, say
        )
        return scanner.run(planned(framework, header))


def show(arguments: argparse.Namespace, results: Results) -> None:
    width = terminal_width()
    if arguments.refused:
        print(refused_table(results, width), end="\n\n")
    if arguments.screened:
        print(screened_table(results, width), end="\n\n")
    print(table(results, width), end="\n\n")
    print(*summary(results), sep="\n")


def main(words: Sequence[str]) -> int:
    arguments = read_arguments(words)
    try:
        complete = arguments.report or measure(arguments)
        show(arguments, Results.read(arguments.file))
    except OpperfError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if not complete:
        print("the budget is spent; the same command goes on", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
