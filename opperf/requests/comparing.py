"""Compares files of results; and what `ab` and `bisect` have in common with that: limits, outputs,
what is a finding."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from opperf.defaults import FAIL_ON
from opperf.errors import UsageError
from opperf.instruments.wrapped.programs import OWN_NAMES
from opperf.metrics import metrics_by_name
from opperf.requests.declaring import Group, Option, Say, argument, declared, told, warn
from opperf.requests.judging import (
    Comparisons,
    Judged,
    judge_files,
    judge_implementations,
    judge_session,
)
from opperf.requests.operators import names_option
from opperf.requests.outputs import ReportedRequest
from opperf.requests.parsers import Words, findings_among, parse_tolerances, words_among
from opperf.results.kept_facts import is_session
from opperf.results.run_files import locate, locate_session
from opperf.shares import read_share, share_text

if TYPE_CHECKING:
    from opperf.comparison.files.judging import Question
    from opperf.comparison.project_file import Limits, ProjectFile
    from opperf.comparison.versus.judging import Versus


def _share_text(share: float) -> str:
    return share_text(share) if 0 < share < 1 else str(share)


def share_option(help: str, **more: Any) -> Option:
    """Returns the declaration of a share, as 5% or 0.05."""
    return Option(help, read_share, metavar="SHARE", text=_share_text, **more)


def read_tolerance(text: str) -> str:
    """Returns the text of a tolerance. Raises `ValueError` and `UsageError` for that of none."""
    parse_tolerances((text,))
    return text


class LimitFields(Group, frozen=True, kw_only=True):
    """The limits beyond which something is a change."""

    section: ClassVar[str] = "Comparison"

    threshold: Annotated[
        float | None,
        share_option(
            "Smallest change of interest, e.g. 5%, of every metric.  [default: 2% of a time; the "
            "tolerance of its own of a metric that is the same on every run, e.g. 0.5% of "
            "instructions, 1% of memory]"
        ),
    ] = None
    tolerances: Annotated[
        tuple[str, ...],
        Option(
            "Largest change that counts as none, of a metric that is the same on every run: "
            "instructions=1%, memory='1% or 65536' (whichever is more), 'conv2d*:instructions=3%'. "
            "Repeat it for several.",
            read_tolerance,
            metavar="[OPERATOR:]METRIC=TOLERANCE",
            may_differ=True,
            spellings="--tolerance",
        ),
    ] = ()
    config: Annotated[
        Path | None,
        Option(
            "TOML with threshold, same-within and [tolerance]; options take precedence.  "
            "[default: the nearest opperf.toml, or pyproject.toml with [tool.opperf], in this "
            "folder or above it in the repository]",
            may_differ=True,
        ),
    ] = None

    def limits(self, same_within: float | None = None, file: ProjectFile | None = None) -> Limits:
        """Returns the limits, with those of the project's file: of `file` if it is given, else the
        named or nearest one. Raises `UsageError` for a file that cannot be used."""
        from opperf.comparison.project_file import find_project_file, make_limits, read_project_file

        if file is None:
            named = self.config
            file = find_project_file(Path.cwd()) if named is None else read_project_file(named)
        return make_limits(file, self.threshold, parse_tolerances(self.tolerances), same_within)


Weight = Annotated[
    Literal["count"] | None,
    Option(
        "count: report totals of count x time, which operators made their difference, and the "
        "geometric mean of the ratios weighted by count; in text, md, json, html and "
        "html-fragment.",
        section="Comparison",
        may_differ=True,
    ),
]


def fail_on_option(known: Words, help: str) -> Option:
    """Returns the declaration of the findings to fail on; None are the usual ones."""
    return Option(
        f"{help}  [default: {','.join(FAIL_ON)}]",
        gather=findings_among(known),
        metavar="FINDINGS",
        section="Plan, resumption and exit code",
    )


class ComparingRequest(ReportedRequest, frozen=True, kw_only=True):
    """A request whose result is the report of a comparison."""

    limits: LimitFields = LimitFields()
    overwrite: Annotated[
        bool,
        Option(
            "Replace what exists: the output files, and the report file of ab or the folder of "
            "bisect.",
            section="Output",
        ),
    ] = False

    def check_weighted(
        self, weight: str | None, inputs: Iterable[Path] = (), may_replace: bool = False
    ) -> None:
        """Raises `OpperfError` for an output that has no place for totals, is an input, or could
        not be written later."""
        from opperf.comparison.weighted import check_format

        for output in self.outputs:
            check_format(weight, output.format)
        self.check_outputs(inputs, may_replace)


FINDINGS = ("regressed", "improved", "suspect", "missing", "different")

OF_SESSIONS = frozenset(
    {"base", "session", "weight", "output_format", "output_files", "overwrite", "fail_on"}
)
"""Fields that apply to a session of `opperf ab`."""

SESSION_FINDING = "ambiguous"


def metric_names() -> Words:
    """Returns the names of all metrics."""
    return tuple(metrics_by_name())


def metric_help() -> str:
    """Returns the help of the option that names metrics."""
    known = metrics_by_name().values()
    own = [metric for metric in known if not metric.on_request]
    profiled = [metric for metric in known if metric.on_request and not metric.forward]
    names, usual = (
        ", ".join(metric.name for metric in chosen)
        for chosen in ([*own, *profiled], [metric for metric in own if metric.usual])
    )
    return (
        f"{names}; commas separate several. kernel is the forward time by the framework's own "
        f"profiler.  [default: those of {usual} that the files have, and the main ones of models "
        "and of programs that profiled them]"
    )


class CompareRequest(ComparingRequest, frozen=True, kw_only=True):
    """Compares two files of results, or makes the verdicts of a session again."""

    section: ClassVar[str] = "Comparison"

    base: Annotated[Path | None, argument("[BASE]", locate)] = None
    new: Annotated[Path | None, argument("[NEW]", locate)] = None
    session: Annotated[
        Path | None,
        Option(
            "Compute the verdicts of a session of `opperf ab` again, from its report file; only "
            "--weight, --format, --output-file and --fail-on apply.",
            locate_session,
            section="Cases",
            spellings="--from-ab",
        ),
    ] = None
    metrics: Annotated[
        tuple[str, ...],
        Option(
            metric_help,
            gather=words_among(metric_names, OWN_NAMES),
            metavar="METRICS",
            spellings="--metric",
        ),
    ] = ()
    patterns: Annotated[
        tuple[str, ...],
        names_option(
            "Only these operators: names, globs ('broadcast_*') or regexes ('re:^sum').",
            section="Cases",
            spellings="--filter",
        ),
    ] = ()
    weight: Weight = None
    fail_on: Annotated[
        tuple[str, ...] | None,
        fail_on_option(
            (*FINDINGS, SESSION_FINDING),
            "Exit with 1 on any of these: regressed (more memory or instructions), improved, "
            "suspect (probably slower), missing (a case, or a metric of one, that only BASE has), "
            "of what `opperf ab` measured different (results), and of --from-ab ambiguous; or "
            "none. Exit with 3 if the files cannot decide.",
        ),
    ] = None
    base_is: Annotated[Literal["first", "second"], Option("Which of the two files is BASE.")] = (
        "first"
    )
    ignore_settings: Annotated[
        bool,
        Option(
            "Join cases of the same operator and arguments even if their settings differ, e.g. the "
            "profiler or the number of threads."
        ),
    ] = False
    in_order: Annotated[
        bool,
        Option(
            "Join the cases of two run files by their places in them, whatever they are, e.g. "
            "those of `opperf ab --profiler instructions`."
        ),
    ] = False

    def question(self, file: ProjectFile | None = None) -> Question:
        """Returns what is asked of two files; `file` is that of `LimitFields.limits`."""
        from opperf.comparison.files.judging import Question

        limits = self.limits.limits(file=file)
        return Question(
            metrics=self.metrics,
            patterns=self.patterns,
            fail_on=self.fail_on,
            ignore_settings=self.ignore_settings,
            in_order=self.in_order,
            thresholds=limits.thresholds,
            tolerances=limits.tolerances,
            limits_file=limits.path,
            weight=self.weight,
        )

    def run(self, say: Say) -> Judged[Comparisons] | Judged[Versus]:
        from opperf.comparison.files.reading import doubts, read

        base, new, session = self.base, self.new, self.session
        if base is not None and new is None and session is None and is_session(base):
            # Alone, it can only mean its verdicts.
            base, session = None, base
        if session is not None and base is None:
            return self._judge_again(session, say)
        if base is None or new is None or session is not None:
            raise UsageError("name two files of results, BASE and NEW, or --from-ab FILE alone")
        if SESSION_FINDING in (self.fail_on or ()):
            raise UsageError(
                f"--fail-on {SESSION_FINDING} is for sessions of opperf ab: --from-ab FILE"
            )
        question = self.question()
        self.check_weighted(self.weight, (base, new))
        sides = read(base), read(new)
        if self.base_is == "second":
            sides = sides[::-1]
        found = judge_files(*sides, question)
        warn(say, doubts(*sides))
        return found

    def _judge_again(self, path: Path, say: Say) -> Judged[Comparisons] | Judged[Versus]:
        from opperf.comparison.ab.session_file import read_session

        for name, field in declared(CompareRequest).items():
            if name in self.given and name not in OF_SESSIONS:
                raise UsageError(
                    f"{field.shown} does not apply to --from-ab: the session has its own cases, "
                    "metrics and thresholds; omit it"
                )
        session = told(read_session(path), say)
        self.check_weighted(self.weight, [path])
        if session.plan.implementations is not None:
            return judge_implementations(session, self.fail_on)
        return judge_session(session, path, self.fail_on, self.limits.limits(), self.weight)
