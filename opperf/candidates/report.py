"""The report of verdicts on candidates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import NamedTuple

import msgspec

from opperf.candidates.model import TrialResult, Verdict, VerdictStatus
from opperf.model import Summary
from opperf.plurals import pluralize
from opperf.reports.fields import (
    LABEL,
    NUMBER,
    PERCENT,
    TEXT,
    TIMES,
    Field,
    number,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import Report, Section, Test

WORDS = {
    VerdictStatus.CHEATED: "CHEATED",
    VerdictStatus.PASSED: "PASS",
    VerdictStatus.WRONG: "FAIL",
}
"""Words of some statuses; the others stand for themselves."""


class Row(NamedTuple):
    """A candidate, or what it is compared with, in one trial."""

    verdict: Verdict
    trial: TrialResult
    name: str
    ns: Summary | None
    ratio: Summary | None
    """Time of this one over the candidate's."""
    is_candidate: bool = False

    @property
    def attainable(self) -> float | None:
        """The shortest time that the memory allows, as a share of this one."""
        if self.ns is None or self.trial.floor_ns is None:
            return None
        return self.trial.floor_ns / self.ns.median

    @property
    def keywords(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.trial.trial.items())


FIELDS: tuple[Field[Row], ...] = (
    Field("problem", "Problem", LABEL, lambda row: row.verdict.problem),
    Field("trial", "Trial", TEXT, lambda row: row.keywords, is_optional=True),
    Field("name", "Candidate", LABEL, lambda row: row.name),
    Field(
        "status",
        "Verdict",
        LABEL,
        lambda row: row.trial.status.value if row.is_candidate else "",
        lambda row: WORDS.get(row.trial.status, row.trial.status.value) if row.is_candidate else "",
    ),
    Field("ns", "Time", TIMES, lambda row: row.ns and row.ns.median),
    Field("unit", None, LABEL, lambda row: "ns"),
    Field(
        "speedup",
        "Speed-up of the candidate",
        number("{:.2f}".format),
        lambda row: row.ratio and row.ratio.median,
    ),
    Field("low", None, NUMBER, lambda row: row.ratio and row.ratio.ci_low),
    Field("high", None, NUMBER, lambda row: row.ratio and row.ratio.ci_high),
    Field(
        "",
        "95 % interval",
        NUMBER,
        lambda row: row.ratio and f"{row.ratio.ci_low:.2f} to {row.ratio.ci_high:.2f}",
    ),
    Field("attainable", "Attainable", PERCENT, lambda row: row.attainable, is_optional=True),
    Field(
        "error",
        "Error / spread",
        number("{:.1e}".format),
        lambda row: row.trial.max_relative_error if row.is_candidate else None,
    ),
    Field(
        "reason",
        "Reason",
        TEXT,
        lambda row: row.trial.reason if row.is_candidate else "",
        is_optional=True,
    ),
)


def _rows(verdict: Verdict) -> Iterator[Row]:
    for trial in verdict.trials:
        yield Row(verdict, trial, verdict.candidate, trial.ns, None, True)
        for name, summary in trial.baselines.items():
            yield Row(verdict, trial, name, summary, trial.ratios.get(name))


def report_of(verdicts: Sequence[Verdict]) -> Report:
    """Returns the report, for every format."""
    rows = [row for verdict in verdicts for row in _rows(verdict)]
    header, cells = rows_of(FIELDS, rows)
    return Report(
        command="versus",
        title=", ".join(dict.fromkeys(verdict.candidate for verdict in verdicts)),
        sections=list(_sections(verdicts, rows)),
        data={
            "command": "versus",
            "rows": objects_of(FIELDS, rows),
            "verdicts": msgspec.to_builtins(verdicts),
        },
        header=header,
        rows=cells,
        tests=[
            Test(
                verdict.problem,
                verdict.candidate,
                f"{verdict.problem} {verdict.candidate}",
                "system-out" if verdict.status is VerdictStatus.PASSED else "failure",
                f"{verdict.status.value} {verdict.reason}".rstrip(),
            )
            for verdict in verdicts
        ],
    )


def _sections(verdicts: Sequence[Verdict], rows: Sequence[Row]) -> Iterator[Section]:
    passed = sum(verdict.status is VerdictStatus.PASSED for verdict in verdicts)
    yield Section(
        prose=[f"{pluralize(len(verdicts), 'verdict')}: {passed} passed."],
        table=table_of(FIELDS, rows),
    )
    for verdict in verdicts:
        items = [f"tested with {each}" for each in verdict.tested]
        if verdict.called:
            items.append(f"calls {', '.join(verdict.called)}")
        items += [*_fallback(verdict), *_gains(verdict)]
        items += [f"not protected here: {each}" for each in verdict.unprotected]
        if items:
            yield Section(title=f"{verdict.problem}: {verdict.candidate}", items=items)


COPIES = re.compile(
    r"aten::(_?(unsafe_|reshape_)?(view|alias|copy)|(as_strided|expand|permute|transpose|t|"
    r"unsqueeze|squeeze|select|slice|detach|clone|contiguous|zeros|ones|full|empty\w*|_to_copy))_?"
)
"""Operators that compute nothing, which any kernel may call."""


def _fallback(verdict: Verdict) -> Iterator[str]:
    """Yields that the candidate calls operators which it claims to replace."""
    computing = [_plain(name) for name in verdict.replaced if not COPIES.fullmatch(_plain(name))]
    own = {_plain(name) for name in verdict.called}
    same = [name for name in dict.fromkeys(computing) if name in own]
    if same:
        whole = "all that" if own.issuperset(computing) else "some of what"
        yield f"calls {whole} the reference calls, as a fallback does: {', '.join(same)}"


def _plain(name: str) -> str:
    """Returns an operator's name without its overload."""
    return name.partition(".")[0]


def _gains(verdict: Verdict) -> Iterator[str]:
    """Yields the gain over the fastest of the others: in all trials, and the minimum."""
    gains = [
        (min(ratio.median for ratio in trial.ratios.values()), trial.trial)
        for trial in verdict.trials
        if trial.ratios
    ]
    if len(gains) < 2:
        return
    mean = geometric_mean(gain for gain, _ in gains)
    count = pluralize(len(gains), "trial")
    yield f"{mean:.2f} times as fast as the fastest other, the geometric mean of {count}"
    gain, trial = min(gains, key=lambda each: each[0])
    keywords = ", ".join(f"{name}={value}" for name, value in trial.items())
    yield f"gains least at {keywords}: {gain:.2f} times as fast as the fastest other"


def code_of(verdicts: Sequence[Verdict]) -> int:
    """Returns the exit code: 1 if a candidate does not pass, 3 if nothing can be decided."""
    statuses = {verdict.status for verdict in verdicts} - {VerdictStatus.PASSED}
    if not statuses:
        return 0
    return 3 if statuses == {VerdictStatus.UNDECIDABLE} else 1
