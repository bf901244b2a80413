"""The known frameworks, as `opperf frameworks` lists them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

import msgspec

from opperf.errors import FrameworkError
from opperf.frameworks import available, default_framework, package_of
from opperf.frameworks.installed import SweptVersion, is_installed, package_version
from opperf.results.messages import tell
from opperf.results.terminal import Column, table_text
from opperf.results.text import terminal_width, wrap


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


HEADERS = ("Framework", "Version", "Tested", "Offers", "To do")

WRAPPED = ("Offers", "To do")

VERSION_COLUMNS = (
    ("Version", "version", True),
    ("Python", "python", True),
    ("Operators", "operators", False),
    ("Measured", "measured", False),
    ("Cases", "cases", False),
    ("Most of each", "configurations", False),
    ("Skipped", "skipped", False),
    ("Failed", "failed", False),
    ("Date", "date", True),
)
"""Columns of the tested versions: heading, field, and whether it is text."""


def known_frameworks() -> list[FrameworkRow]:
    """Returns the rows of all known frameworks."""
    return [describe_framework(name) for name in sorted(available())]


def print_frameworks(found: Sequence[FrameworkRow], in_detail: bool) -> None:
    """Prints a table of frameworks, or what each of them has."""
    width = terminal_width()
    if in_detail:
        print("\n\n".join(details(framework, width) for framework in found))
        return
    print(frameworks_table(found, width))
    print(f"\nDefault framework: {default_framework()}")
    tell("Devices, dtypes, profilers and more of a framework: opperf frameworks NAME", sys.stdout)


def frameworks_table(found: Sequence[FrameworkRow], width: int | None) -> str:
    """Returns the table of the frameworks, whose long texts take several lines of a terminal."""
    cells = zip(*map(table_row, found), strict=True)
    return table_text(
        [
            Column(title, column, wraps=title in WRAPPED, is_whole=title not in WRAPPED)
            for title, column in zip(HEADERS, cells, strict=True)
            if any(column)
        ],
        width,
    )


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


def table_row(one: FrameworkRow) -> tuple[str, str, str, str, str]:
    """Returns the cells of the table."""
    version = (one.version or "unknown") if one.installed else "not installed"
    tested = " to ".join(one.tested or ())
    pointer = f": opperf frameworks {one.name} has what it lacks" if one.warning else ""
    return one.name, version, tested, one.offers, one.advice or one.warning + pointer


def details(one: FrameworkRow, width: int | None) -> str:
    """A framework and what it has, a paragraph for each setting and group of operators."""
    _, version, *_ = table_row(one)
    advice = one.advice or one.warning + (lacking(one) if one.warning and one.choices else "")
    column = max(map(len, one.choices), default=0) + 2
    paragraphs = [
        textwrap.fill(
            ", ".join(words),
            width or sys.maxsize,
            initial_indent=name.ljust(column),
            subsequent_indent=" " * column,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, words in one.choices.items()
    ]
    wrapped = wrap(advice, width) if advice and width else advice
    tested = [versions_table(one.tested_versions, width)] if one.tested_versions else []
    return "\n".join([f"{one.name} {version}", *filter(None, [wrapped]), *paragraphs, *tested])


def lacking(one: FrameworkRow) -> str:
    """Returns, for a version that is not tested, whether it lacks names that opperf uses."""
    if "missing" in one.choices:
        return "; opperf uses names that it lacks, which are under missing"
    return "; it has all names without a public interface that opperf uses"


def text_of(value: object) -> str:
    """Returns the text of a cell, empty for None."""
    return "" if value is None else str(value)


def versions_table(rows: Sequence[SweptVersion], width: int | None) -> str:
    """Returns a table of what came of a sweep with each version."""
    columns = [
        Column(title, [text_of(getattr(row, field)) for row in rows], is_text=is_text)
        for title, field, is_text in VERSION_COLUMNS
    ]
    return f"\nA sweep over all operators with each tested version:\n{table_text(columns, width)}"
