"""A report as a comment on a pull request: as long as one may be, and with a mark by which a later
one replaces it."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.errors import one_line
from opperf.reports.markdown import head_of, ordered, plain, section_text
from opperf.reports.model import Report, Section

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
    head = "\n\n".join(head_of(report))
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
    low, high = 0, table.height
    while low < high:
        middle = (low + high + 1) // 2
        rows = table._replace(shown=tuple(range(middle)))
        if len(section_text(section._replace(table=rows), level)) <= room:
            low = middle
        else:
            high = middle - 1
    if low < SHORTEST_TABLE:
        return "", table.height
    rows = table._replace(shown=tuple(range(low)))
    return section_text(section._replace(table=rows), level), table.height - low
