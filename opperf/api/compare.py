"""Compares two files, or results of this program: `opperf.compare(base, new)`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from opperf.api.run_result import DataFrame, RunResult, data_frame
from opperf.comparison.compared import Change, ComparedRow, Comparison
from opperf.comparison.files.reading import Measured, doubts, read, read_records
from opperf.comparison.files.telling import LOOKED_FOR
from opperf.comparison.project_file import ProjectFile, read_project_file
from opperf.comparison.sections import columns_of
from opperf.comparison.weighted import COUNT
from opperf.errors import UsageError, unknown
from opperf.metrics import metrics_by_name
from opperf.reports.fields import objects_of
from opperf.reports.formats import REPORT, format_named
from opperf.reports.html import write_html
from opperf.reports.model import Report
from opperf.reports.text import write_text
from opperf.requests.comparing import CompareRequest
from opperf.requests.declaring import build
from opperf.requests.judging import Comparisons, judge_files
from opperf.results.run_files import locate
from opperf.results.text import terminal_width
from opperf.shares import read_share


@dataclass(frozen=True)
class Reported:
    """The result of a command that compares, which prints as its report."""

    exit_code: int
    """That of the command: 1 for a finding of `fail_on`, 3 if nothing could be decided, else 0."""
    reason: str
    """Why it is not 0, in one line."""
    page: Report = field(repr=False)
    """The report as formats write it."""

    def __str__(self) -> str:
        return write_text(self.page, terminal_width())

    def _repr_html_(self) -> str:
        return write_html(self.page)

    def report(self, output_format: str) -> str:
        """Returns the report in a format of the command. Raises `UsageError` for an unknown one."""
        return format_named(output_format, REPORT).write_report(self.page)


@dataclass(frozen=True)
class ReportedComparisons(Reported):
    """Comparisons of two sides each, which print as the report of their command."""

    comparisons: Comparisons

    @property
    def comparison(self) -> Comparison:
        """The first of them: of several arms the second against the first."""
        return next(iter(self.comparisons.values()))

    @property
    def rows(self) -> tuple[ComparedRow, ...]:
        """A row for each metric of each case that both sides have, the largest ratio first."""
        return self.comparison.rows

    @property
    def changes(self) -> tuple[Change, ...]:
        """The cases, and metrics of cases, that only one of the sides has figures of."""
        return self.comparison.changes

    def to_pandas(self) -> DataFrame:
        """Returns the rows as a data frame of pandas. Raises `ImportError` where that is not
        installed."""
        return data_frame(objects_of(columns_of(self.comparison), self.rows))


@dataclass(frozen=True)
class FileComparison(ReportedComparisons):
    """A comparison of two files, which prints as the report of `opperf compare`."""

    warnings: tuple[str, ...]


def compare(
    base: str | os.PathLike[str] | RunResult,
    new: str | os.PathLike[str] | RunResult,
    *,
    metrics: Iterable[str] = (),
    operators: Iterable[str] = (),
    threshold: float | str | None = None,
    tolerances: Iterable[str] = (),
    config: str | os.PathLike[str] | None = None,
    fail_on: Iterable[str] | None = None,
    ignore_settings: bool = False,
    in_order: bool = False,
    weight: str | None = None,
) -> FileComparison:
    """Compares two files of results, as `opperf compare` does.

    Parameters
    ----------
    base, new : str, path or RunResult
        Run files, kept runs as '@last' and '@-2', JSON with averages, or what `opperf.run` and
        `opperf.read` return.
    metrics, operators : list of str
        Only these metrics, by default the usual ones; only operators of these names or patterns.
    threshold : float or str, optional
        Smallest change of interest of every metric: 0.05 or '5%'; by default 2 % of a time.
    tolerances : list of str
        Of metrics that are the same on every run, each as '[OPERATOR:]METRIC=TOLERANCE'.
    config : str or path, optional
        File of thresholds and tolerances, as `opperf.toml`; no file by default.
    fail_on : list of str, optional
        Findings that make `exit_code` 1: 'regressed', 'improved', 'suspect', 'missing', and of the
        counts of `opperf ab` 'different' (results); by default the first, and the last two.
    ignore_settings, in_order : bool
        Join cases that differ in their settings only; or by their places in two run files.
    weight : str, optional
        'count' for totals of count times time, in `comparison.weighted`, and in the report.

    Raises
    ------
    OpperfError
        For files that cannot be read or compared, and for options that cannot be used.
    """
    request = build(
        CompareRequest,
        {
            "metrics": _words("metric", metrics, metrics_by_name()),
            "patterns": _texts("operators", operators),
            "threshold": _share(threshold),
            "tolerances": _texts("tolerances", tolerances),
            "fail_on": None if fail_on is None else _words("finding", fail_on, LOOKED_FOR),
            "ignore_settings": ignore_settings,
            "in_order": in_order,
            "weight": next(iter(_words("weight", filter(None, (weight,)), [COUNT])), None),
        },
    )
    sides = measured_of(base), measured_of(new)
    file = ProjectFile() if config is None else read_project_file(Path(config))
    found = judge_files(*sides, request.question(file))
    return FileComparison(found.code, found.reason, found.report, found.found, doubts(*sides))


def measured_of(side: str | os.PathLike[str] | RunResult) -> Measured:
    """Returns one side of a comparison. Raises `OpperfError` for a file that cannot be read."""
    if isinstance(side, RunResult):
        return read_records(Path(side.name), side.run, side.warnings)
    return read(locate(os.fspath(side)))


def _share(threshold: float | str | None) -> float | None:
    try:
        return None if threshold is None else read_share(threshold)
    except ValueError as error:
        raise UsageError(f"threshold: {error}") from error


def _texts(name: str, words: Iterable[str]) -> tuple[str, ...]:
    """Returns a list of texts. Raises `UsageError` for a single one, whose letters it would be."""
    if isinstance(words, str):
        raise UsageError(f"{name} is a list of texts, not {words!r}")
    return tuple(words)


def _words(kind: str, words: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    listed = _texts(f"{kind}s", words)
    for word in listed:
        if word not in list(known):
            raise unknown(kind, word, known)
    return listed
