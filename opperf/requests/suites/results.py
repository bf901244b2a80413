"""Validates, reports and compares runs of suites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from opperf.defaults import ASSUMED_SCATTER
from opperf.errors import UsageError
from opperf.model.declaring import number_between
from opperf.requests.declaring import Option, Say, argument
from opperf.requests.judging import Comparisons, Judged
from opperf.requests.operators import names_option
from opperf.requests.outputs import ReportedRequest
from opperf.requests.parsers import findings_among
from opperf.results.run_files import locate
from opperf.shares import read_share

if TYPE_CHECKING:
    from opperf.reports.model import Report
    from opperf.statistics.data import Thresholds
    from opperf.suites.results.layers import Validation
    from opperf.suites.results.run import SuiteRun

MILABENCH = "milabench"

FINDINGS = ("regressed", "improved", "missing")
"""Those that a comparison can fail on."""


def locate_results(text: str) -> Path:
    """Returns the path of a run file, of a folder in milabench's layout or of a stream, or that of
    a kept run, as `@last`. Raises `ValueError` where there is none."""
    path = Path(text)
    found = path if path.exists() else locate(text)
    if not found.exists():
        raise ValueError(f"{str(found)!r} does not exist")
    return found


Runs = Annotated[tuple[Path, ...], argument("RUN...", locate_results)]

AsOther = Annotated[
    Literal["opperf", "milabench"],
    Option(
        "Whose rules and figures; those of milabench have its faults, too.",
        section="Other options",
        spellings="--as",
    ),
]

By = Annotated[
    tuple[str, ...],
    names_option(
        "Further tables of the benches by group, tag, env, or a key of their matrix; commas "
        "separate several.",
        section="Comparison",
    ),
]

Scatter = Annotated[
    float,
    Option(
        "Standard deviation of a program's speed from one start to the next, which is assumed of "
        "benches that were run once, and as much again of a single observation.  [default: 5%]",
        read_share,
        metavar="SHARE",
        section="Other options",
    ),
]


def _further_runs(help: str, **more: Any) -> Option:
    return Option(help, locate_results, metavar="RUN", **more)


class ValidateSuiteRequest(ReportedRequest, frozen=True, kw_only=True):
    """Validates stored runs of a suite, layer by layer."""

    runs: Runs
    validations: Annotated[
        tuple[str, ...],
        names_option(
            "Layers, or all: started, timeout, error, ensure_rate, loss, usage, samples, planning, "
            "version, throttle, drift, environment.  [default: all; as milabench error, "
            "ensure_rate, version]",
            section="Cases",
        ),
    ] = ()
    as_: AsOther = "opperf"
    strict: Annotated[bool, Option("Warnings are failures.")] = False

    def run(self, say: Say) -> Validation:
        from opperf.suites.results.layers import choose_layers, validate
        from opperf.suites.results.run import load

        layers = choose_layers(self.validations, self.as_ == MILABENCH)
        self.check_outputs(self.runs)
        return validate(load(self.runs), layers)


class ReportSuiteRequest(ReportedRequest, frozen=True, kw_only=True):
    """Reports a run of a suite: a row for each bench, and the total against a machine."""

    runs: Runs
    baselines: Annotated[
        tuple[Path, ...],
        _further_runs(
            "Run of the machine that scores are ratios to. Repeat it for several runs of it.",
            section="Comparison",
            spellings="--baseline",
        ),
    ] = ()
    by: By = ()
    price: Annotated[
        float | None,
        Option(
            "Price of the machine: gives performance per money.",
            number_between(0),
            metavar="AMOUNT",
        ),
    ] = None
    as_: AsOther = "opperf"
    scatter: Scatter = ASSUMED_SCATTER

    def run(self, say: Say) -> Report:
        from opperf.comparison.suites import score_report
        from opperf.suites.results.run import load
        from opperf.suites.results.scores import scores_of

        as_milabench = self.as_ == MILABENCH
        if as_milabench and (self.baselines or self.by):
            raise UsageError(
                "--as milabench has no baseline and no groups; omit --baseline and --by, or --as"
            )
        if self.price and not as_milabench and not self.baselines:
            raise UsageError(
                "--price is of the total, which is a ratio to a machine; name its run with "
                "--baseline"
            )
        self.check_outputs((*self.runs, *self.baselines))
        run = load(self.runs)
        if as_milabench:
            return score_report.milabench_report(run, self.price)
        baseline = load(self.baselines) if self.baselines else None
        return score_report.report_of(scores_of(run, baseline, self.by, self.price, self.scatter))


class CompareSuitesRequest(ReportedRequest, frozen=True, kw_only=True):
    """Compares two runs of a suite, bench by bench."""

    base: Annotated[Path, argument("BASE", locate_results)]
    new: Annotated[Path, argument("NEW", locate_results)]
    repeat_a: Annotated[
        tuple[Path, ...],
        _further_runs(
            "A further run of A on the same machine. Repeat it for several.", section="Comparison"
        ),
    ] = ()
    repeat_b: Annotated[
        tuple[Path, ...], _further_runs("Likewise of B.", section="Comparison")
    ] = ()
    env_a: Annotated[
        str,
        Option(
            "Compare the benches of A that were run in this environment, of several, e.g. `--env-a "
            "torch==2.12 --env-b torch==2.13` of one run.",
            metavar="LABEL",
        ),
    ] = ""
    env_b: Annotated[str, Option("Likewise of B.", metavar="LABEL")] = ""
    by: By = ()
    threshold: Annotated[
        float,
        Option(
            "Smallest change of interest.  [default: 2%]",
            read_share,
            metavar="SHARE",
            section="Comparison",
        ),
    ] = 0.02
    same_within: Annotated[
        float | None,
        Option(
            "A bench is the same if its change is shown to be smaller.  [default: twice "
            "--threshold]",
            read_share,
            metavar="SHARE",
            section="Comparison",
        ),
    ] = None
    scatter: Scatter = ASSUMED_SCATTER
    fail_on: Annotated[
        tuple[str, ...] | None,
        Option(
            "Exit with 1 on any of these: regressed, improved, missing (worked in BASE and fails "
            "in NEW); or none. Exit with 3 if the runs cannot decide.  [default: "
            "regressed,missing]",
            gather=findings_among(FINDINGS),
            metavar="FINDINGS",
        ),
    ] = None

    def run(self, say: Say) -> Judged[Comparisons]:
        from opperf.comparison.report import report_of
        from opperf.comparison.suites.comparing import compare, outcome, telling_of

        a, b = (self.base, *self.repeat_a), (self.new, *self.repeat_b)
        self.check_outputs((*a, *b))
        base, new = _side(a, self.env_a), _side(b, self.env_b)
        found = compare(base, new, self.thresholds, self.by, self.scatter, self.fail_on)
        report = report_of(found, telling_of(found, self.scatter))
        return Judged({found.labels: found}, report, *outcome(found))

    @property
    def thresholds(self) -> Thresholds:
        """The limits of verdicts. Raises `UsageError` for contradictory ones."""
        from opperf.statistics.data import SAME_FACTOR, Thresholds

        same_within = self.same_within or SAME_FACTOR * self.threshold
        if same_within < self.threshold:
            raise UsageError("--same-within is below --threshold; a bench would be both; raise it")
        return Thresholds(threshold=self.threshold, same_within=same_within)


def _side(paths: Sequence[Path], environment: str) -> SuiteRun:
    from opperf.suites.results.run import in_environment, load

    run = load(tuple(dict.fromkeys(paths)))
    return in_environment(run, environment) if environment else run
