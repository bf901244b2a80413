"""A report as Markdown for a page: the answer first, folded without a finding; or as a comment on a
pull request, as long as one may be, with a mark by which a later one replaces it."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Sequence

from tabulate import tabulate

from opperf.errors import one_line
from opperf.reports.model import Cell, Column, Fact, Report, Section
from opperf.results.text import short_inputs

INPUTS_WIDTH = 120
"""Characters of inputs, if fewer distinguish cases: a comment on GitHub has at most 65536."""

LONGEST_INPUTS = 400
"""Most characters of a case's inputs: the rows of a metric are then well within that limit."""


def write_markdown(report: Report, width: int | None = None) -> str:
    """Returns the page, or the comment; its lines have any width."""
    sections = (section_text(section, report.level + 1) for section in ordered(report))
    whole = "\n\n".join(filter(None, [*_head_of(report), *sections])) + "\n"
    if not report.comment:
        return whole
    return comment_of(report, whole)


def _head_of(report: Report) -> list[str]:
    title = report.headline or plain(report.title)
    blocks = [
        f"{'#' * report.level} {title}" if title else "",
        *report.answer,
        # A headline stands in the place of the title.
        plain(report.title) if report.headline else "",
    ]
    return [block for block in blocks if block]


def ordered(report: Report) -> list[Section]:
    """Returns the sections in the order of a page: how to read it is said at its end."""
    shown = [section for section in report.sections if not (section.is_extra or section.in_answer)]
    return sorted(shown, key=lambda section: bool(section.manual))


def section_text(section: Section, level: int) -> str:
    """Returns a section below a heading of this level."""
    title = section.page_title or section.title
    parts = ["\n".join(map(_fact, section.facts))]
    sentences = list(map(plain, filter(None, (section.manual, *section.prose))))
    is_list = section.is_folded and section.table is None and not section.items
    parts += (
        ["\n".join(f"- {sentence}" for sentence in sentences)] if is_list else [" ".join(sentences)]
    )
    if section.table is not None and section.table.height:
        table = section.table.limited()
        ordered = sorted(table.columns, key=lambda column: column.kind.is_number)
        parts += [grid(table.columns if table.is_ranked else ordered), plain(table.more)]
    if section.brief:
        parts.append(plain(section.brief))
    elif section.items:
        parts.append("\n".join(f"- {plain(item)}" for item in section.limited_items()))
    parts += map(plain, section.below)
    if section.code:
        parts.append(_fenced("\n".join(line.rstrip() for line in section.code)))
    parts += (f"{plain(why)}:\n\n{_fenced(command, 'sh')}" for why, command in section.commands)
    body = "\n\n".join(filter(None, parts))
    if not title:
        return body
    if section.is_folded:
        return _fold(html.escape(title, quote=False), body)
    return f"{'#' * level} {plain(title)}\n\n{body}"


def _fact(fact: Fact) -> str:
    label = fact.page_label or fact.label
    name = code(fact.name) if fact.name else ""
    return f"- {plain(label)}: {', '.join(filter(None, (name, plain(fact.about))))}"


def _fold(title: str, body: str) -> str:
    return f"<details><summary>{' '.join(title.split())}</summary>\n\n{body}\n\n</details>"


def grid(columns: Sequence[Column]) -> str:
    """Returns a table."""
    text: str = tabulate(
        list(zip(*map(_texts, columns), strict=True)),
        headers=[_escape(in_cell(_title(column))) for column in columns],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["right" if column.kind.is_number else "left" for column in columns],
    )
    return text


def _title(column: Column) -> str:
    title = column.page_title or column.title
    return " ".join([title, *(f"({word})" for word in column.unit_words())])


def _texts(column: Column) -> list[str]:
    whole = column.whole()
    if column.cases is not None:
        own, run = column.cases
        short = short_inputs(run, INPUTS_WIDTH)
        whole = [one_line(short[case], LONGEST_INPUTS) for case in own]
    return [
        "&emsp;" * cell.depth + _escape(_text(column, text, cell))
        for text, cell in zip(whole, column.cells, strict=True)
    ]


def _text(column: Column, text: str, cell: Cell) -> str:
    if cell.is_struck and text:
        return f"~~{_text(column, text, cell._replace(is_struck=False))}~~"
    if column.kind.is_name:
        return code(text) if text else ""
    shown = in_cell(text)
    return f"**{shown}**" if cell.tone in ("worse", "better") else shown


def code(text: str) -> str:
    """Returns text as code, whatever it has."""
    shown = " ".join(text.split())
    fence = _fence(shown, 1)
    # Of a space at both ends, which parts the fence from backticks, nothing is shown.
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def _fenced(text: str, language: str = "") -> str:
    """Returns lines of code, whatever they have."""
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def _fence(text: str, least: int) -> str:
    """Returns more backticks than are together in a text."""
    return "`" * max([least, *(len(found) + 1 for found in re.findall("`+", text))])


def plain(text: str) -> str:
    """Returns text with its markup escaped, but not the underscores in names, which are none."""
    return re.sub(r"([\\`*\[\]<>&~#|]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def in_cell(text: str) -> str:
    """Returns text for a table's cell, with its markup escaped, but not underscores in names, nor
    brackets that make no link."""
    return re.sub(
        r"[&<*`]|\](?=[(\[])|~(?=~)|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", text
    )


def _escape(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


LONGEST_COMMENT = 65_000
"""Most characters of a comment: GitHub takes 65536, and a job may add a line of its own."""

SHORTEST_TABLE = 3
"""Fewest rows of a table that is cut."""


def comment_of(report: Report, whole: str) -> str:
    """Returns the page `whole` within the length of a comment: findings first, then the rest where
    there is room, and a line on what is omitted. Its last line, which is not shown, says which
    comment it replaces."""
    marker = f"\n<!-- opperf {report.comment} -->\n"
    if len(whole) + len(marker) <= LONGEST_COMMENT:
        return whole + marker
    room = LONGEST_COMMENT - len(marker) - LONGEST_OMISSION
    blocks, omitted = _blocks_within(report, room)
    return "\n\n".join([*blocks, _omission(omitted)]) + "\n" + marker


LONGEST_OMISSION = 1_000
"""Characters that are kept for the line on what is omitted."""


def _omission(omitted: Sequence[str]) -> str:
    line = f"Omitted, as a comment has at most {LONGEST_COMMENT:,} characters: "
    ending = ". The same report as html or json has everything."
    return line + one_line(plain("; ".join(omitted)), LONGEST_OMISSION - 200) + ending


def _blocks_within(report: Report, room: int) -> tuple[list[str], list[str]]:
    """Returns the blocks that fit, in the page's order, and what does not. Sections that are not
    folded hold findings, and come first."""
    head = "\n\n".join(_head_of(report))
    left = room - len(head)
    sections = ordered(report)
    made: dict[int, str] = {}
    omitted: dict[int, str] = {}
    for place in sorted(range(len(sections)), key=lambda place: sections[place].is_folded):
        section = sections[place]
        text = section_text(section, report.level + 1)
        if len(text) + 2 > left:
            cut, rows = _cut(section, left - 2, report.level + 1)
            omitted[place] = _omitted_text(section, rows)
            text = cut
        if text:
            made[place] = text
            left -= len(text) + 2
    return (
        [block for block in (head, *(made[place] for place in sorted(made))) if block],
        [omitted[place] for place in sorted(omitted)],
    )


def _omitted_text(section: Section, rows: int) -> str:
    title = section.page_title or section.title or "a table"
    return f"{title} ({rows} rows)" if rows else title


def _cut(section: Section, room: int, level: int) -> tuple[str, int]:
    """Returns a section with the first rows of its table that fit, or nothing, and how many rows
    are omitted."""
    if section.table is None:
        return "", 0
    table = section.table.limited()

    def text(rows: int) -> str:
        shown = table._replace(shown=tuple(range(rows)))
        return section_text(section._replace(table=shown), level)

    rows = bisect_right(range(table.height + 1), room, key=lambda rows: len(text(rows))) - 1
    return (text(rows), table.height - rows) if rows >= SHORTEST_TABLE else ("", table.height)
