"""The reports on this machine: its health, as `opperf doctor` finds it, and known frameworks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from opperf.errors import FrameworkError
from opperf.frameworks import available, default_framework, package_of
from opperf.frameworks.installed import SweptVersion, is_installed, package_version
from opperf.plurals import pluralize
from opperf.reports.fields import COUNT, LABEL, NUMBER, TEXT, WORD, Field, figure, rows_of, table_of
from opperf.reports.model import ColumnKind, Fact, Report, Section, Test, Tone

if TYPE_CHECKING:
    from opperf.machine.health.finding import Finding, Level
    from opperf.machine.health.jitter import Health
    from opperf.model import Peaks

TONES: dict[Level, Tone] = {"ok": "", "warn": "worse", "unknown": "open"}

RESULTS: dict[Level, Literal["failure", "skipped", "system-out"]] = {
    "ok": "system-out",
    "warn": "failure",
    "unknown": "skipped",
}
"""Results of findings as tests."""

LEVEL = ColumnKind(tone=TONES.__getitem__, is_whole=True)


def title(name: str) -> str:
    """Returns a finding's name in words."""
    return name.replace("_", " ")


FINDINGS: tuple[Field[Finding], ...] = (
    Field("name", "Finding", LABEL, lambda found: found.name, lambda found: title(found.name)),
    Field("level", "Level", LEVEL, lambda found: found.level),
    Field("state", "State", TEXT, lambda found: found.state),
    Field("explanation", None, TEXT, lambda found: found.explanation),
    Field("fix", None, TEXT, lambda found: found.fix),
)


def report_of_health(health: Health) -> Report:
    """Returns all findings, then the reason of each warning and the command that fixes it."""
    findings = health.findings
    warnings = [
        Section(
            prose=[f"{title(found.name)}: {found.explanation}"],
            code=[found.fix] if found.fix else (),
        )
        for found in findings
        if found.level == "warn"
    ]
    levels = Counter(found.level for found in findings)
    counts = f"{levels['unknown']} unknown, {levels['ok']} ok"
    closing = Section(prose=[f"{pluralize(len(warnings), 'warning')}, {counts}"])
    return Report(
        "doctor",
        "",
        (Section(table=table_of(FINDINGS, findings)), *warnings, closing),
        health,
        *rows_of(FINDINGS, findings),
        tests=[
            Test("machine", found.name, found.name, RESULTS[found.level], found.state)
            for found in findings
        ],
    )


class PeakRow(NamedTuple):
    """A measured peak of a device."""

    device: str
    peak: Literal["bandwidth", "product", "dispatch"]
    of: str
    """Level of memory, dtype or framework."""
    kernel: str
    threads: int | None
    """None of a GPU, and of a call."""
    value: float
    unit: str
    by: str = ""
    """The framework that reached it, and the extent of a product; empty of cores' bandwidth, and of
    a call."""


def peak_rows(peaks: Peaks) -> list[PeakRow]:
    """Returns the rows of a device, by what was measured."""
    make = partial(PeakRow, peaks.device)
    moved = (
        make("bandwidth", peak.level, peak.kernel, peak.threads or None, peak.rate, "B/s", peak.by)
        for peak in peaks.bandwidths
    )
    multiplied = (
        make("product", peak.dtype, "", peak.threads or None, peak.rate, "FLOP/s", peak.by)
        for peak in peaks.products
    )
    called = (
        make("dispatch", peak.framework, "", None, peak.ns, "ns") for peak in peaks.dispatches
    )
    return [*moved, *multiplied, *called]


def _peak_fields(
    of: str, kernel: str | None, rate: str, unit: str, by: str
) -> tuple[Field[PeakRow], ...]:
    """Returns the columns of one kind of peak, with their titles; CSV has the same of all."""
    return (
        Field("device", None, LABEL, lambda row: row.device),
        Field("peak", None, LABEL, lambda row: row.peak),
        Field("of", of, LABEL, lambda row: row.of),
        Field("kernel", kernel, LABEL, lambda row: row.kernel),
        Field("threads", "Threads", COUNT, lambda row: row.threads, is_optional=True),
        Field("value", rate, figure(unit), lambda row: row.value),
        Field("unit", None, LABEL, lambda row: row.unit),
        Field("by", by, LABEL, lambda row: row.by, is_optional=True),
    )


PEAKS = {
    "bandwidth": ("bandwidth", _peak_fields("Level", "Kernel", "Rate", "B/s", "By")),
    "product": (
        "products of matrices",
        _peak_fields("Dtype", None, "Rate", "FLOP/s", "By, extent"),
    ),
    "dispatch": ("shortest call", _peak_fields("Framework", None, "Time", "ns", "By")),
}
"""The title of each kind of peak, and its columns."""


def report_of_peaks(found: Sequence[Peaks]) -> Report:
    """Returns tables of the peaks of each device."""
    rows = [row for peaks in found for row in peak_rows(peaks)]
    sections = [
        Section(f"{peaks.device}: {title}", table=table_of(fields, own))
        for peaks in found
        for peak, (title, fields) in PEAKS.items()
        if (own := [row for row in rows if (row.device, row.peak) == (peaks.device, peak)])
    ]
    fields = PEAKS["bandwidth"][1]
    return Report("doctor", "", sections, found, *rows_of(fields, rows))


class FrameworkRow(msgspec.Struct, frozen=True):
    """A known framework, described without importing it."""

    name: str
    installed: bool
    version: str = ""
    """Empty if unknown."""
    offers: str = ""
    advice: str = ""
    """Advice on what to do before it can be measured; empty if nothing."""
    tested: tuple[str, str] | None = None
    """Oldest and newest version that opperf has been tested with, if it says so."""
    warning: str = ""
    """About a version that is not tested; empty if it is."""
    choices: dict[str, tuple[str, ...]] = {}
    """Its values for settings and groups of operators, where it is asked."""
    tested_versions: tuple[SweptVersion, ...] = ()
    """The result of a sweep with each tested version, where it is asked."""


def _to_do(one: FrameworkRow) -> str:
    pointer = f": opperf frameworks {one.name} has what it lacks" if one.warning else ""
    return one.advice or one.warning + pointer


def _version_text(one: FrameworkRow) -> str:
    return (one.version or "unknown") if one.installed else "not installed"


FRAMEWORKS: tuple[Field[FrameworkRow], ...] = (
    Field("framework", "Framework", LABEL, lambda one: one.name),
    Field("version", "Version", LABEL, lambda one: one.version, _version_text, is_optional=True),
    Field("tested", "Tested", LABEL, lambda one: " to ".join(one.tested or ()), is_optional=True),
    Field("offers", "Offers", TEXT, lambda one: one.offers, is_optional=True),
    Field("to_do", "To do", TEXT, _to_do, is_optional=True),
)

VERSIONS: tuple[Field[SweptVersion], ...] = (
    Field("version", "Version", WORD, lambda row: row.version),
    Field("python", "Python", WORD, lambda row: row.python),
    Field("operators", "Operators", NUMBER, lambda row: row.operators),
    Field("measured", "Measured", NUMBER, lambda row: row.measured),
    Field("cases", "Cases", NUMBER, lambda row: row.cases),
    Field("configurations", "Most of each", NUMBER, lambda row: row.configurations),
    Field("skipped", "Skipped", NUMBER, lambda row: row.skipped),
    Field("failed", "Failed", NUMBER, lambda row: row.failed),
    Field("date", "Date", WORD, lambda row: row.date),
)


def known_frameworks() -> list[FrameworkRow]:
    """Returns the rows of all known frameworks."""
    return [describe_framework(name) for name in sorted(available())]


def report_of_frameworks(found: Sequence[FrameworkRow], in_detail: bool) -> Report:
    """Returns a table of frameworks, or what each of them has."""
    if in_detail:
        sections = [section for row in found for section in _details(row)]
    else:
        closing = (
            f"Default framework: {default_framework()}",
            "Devices, dtypes, profilers and more of a framework: opperf frameworks NAME",
        )
        sections = [Section(table=table_of(FRAMEWORKS, found)), Section(prose=closing)]
    return Report("frameworks", "", sections, found, *rows_of(FRAMEWORKS, found))


def describe_framework(name: str) -> FrameworkRow:
    """Returns the row of a known framework."""
    try:
        package = package_of(name)
    except FrameworkError as error:
        return FrameworkRow(name, installed=False, advice=str(error))
    if package is None:
        return FrameworkRow(name, installed=True)
    if not is_installed(package.name):
        advice = package.install_advice()
        return FrameworkRow(name, False, "", package.offers, advice, package.tested)
    version = package_version(package.name)
    return FrameworkRow(
        name,
        True,
        version,
        package.offers,
        package.obstacle(),
        package.tested,
        package.untested(version),
    )


def _details(one: FrameworkRow) -> Iterator[Section]:
    """Yields a framework and what it has: a line for each setting and group of operators, and a row
    for each tested version."""
    advice = one.advice or one.warning + (lacking(one) if one.warning and one.choices else "")
    yield Section(
        f"{one.name} {_version_text(one)}",
        prose=[advice] if advice else (),
        facts=[Fact(name, "", ", ".join(words)) for name, words in one.choices.items()],
    )
    if one.tested_versions:
        yield Section(
            "A sweep over all operators with each tested version",
            table=table_of(VERSIONS, one.tested_versions),
        )


def lacking(one: FrameworkRow) -> str:
    """Returns, for a version that is not tested, whether it lacks names that opperf uses."""
    if "missing" in one.choices:
        return "; opperf uses names that it lacks, which are under missing"
    return "; it has all names without a public interface that opperf uses"
