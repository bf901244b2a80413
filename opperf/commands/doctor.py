"""The command `doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import click
import msgspec

from opperf.commands.command import command
from opperf.commands.frameworks import read_choice
from opperf.errors import FOUND, UsageError
from opperf.frameworks import variables_of
from opperf.frameworks.mentioned import FrameworkChoice, report_choice
from opperf.instruments.callgrind import heap
from opperf.instruments.callgrind.valgrind import Valgrind
from opperf.machine.health import contention
from opperf.machine.health.examine import examine
from opperf.machine.health.finding import Finding
from opperf.machine.health.jitter import (
    Jitter,
    Timer,
    jitter_finding,
    jitter_of,
    make_quantum,
    repeat_for,
    timer,
    timer_finding,
)
from opperf.machine.kernel import Machine, Unreadable, this_machine
from opperf.parameters import as_json, debug, explicit_options, framework
from opperf.plurals import pluralize
from opperf.results.messages import tell, wrap_message
from opperf.results.terminal import GAP, Column, table_text
from opperf.results.text import duration, terminal_width

LONGEST_S = 600
"""Limit on the jitter test: what does not occur in ten minutes is too rare to disturb a run."""


@command()
@click.option(
    "--seconds",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0, LONGEST_S),
    metavar="SECONDS",
    help="Duration of the jitter test, which keeps one core busy; 0 skips it.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any warning.")
@as_json
@debug
@framework
@click.pass_context
def doctor(
    ctx: click.Context, /, seconds: float, strict: bool, json: bool, **options: object
) -> None:
    """Report what makes timings noisy on this machine, why, and the command that fixes it."""

    choice = read_choice(options, explicit_options(ctx, options))
    ctx.exit(doctor_command(choice, seconds, strict, json))


class Report(msgspec.Struct, frozen=True):
    """The content of `doctor --json`."""

    findings: list[Finding]
    timer: Timer
    jitter: Jitter | None


def doctor_command(choice: FrameworkChoice, seconds: float, strict: bool, in_json: bool) -> int:
    """Prints what makes this machine noisy; the exit code: 1 for a warning if `strict`."""
    report_choice(choice, tell)
    machine = this_machine(variables_of(choice.name))
    found = report(machine, seconds)
    if in_json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print_report(found.findings, terminal_width())
    warned = any(finding.level == "warn" for finding in found.findings)
    return FOUND if warned and strict else 0


def report(machine: Machine, seconds: float) -> Report:
    """Runs all probes, then a jitter test of `seconds`, unless that is 0."""
    # The probes come first, as the test itself is a load.
    findings = {finding.name: finding for finding in examine(machine)}
    jitter = None
    if seconds > 0:
        tell(f"keeping a core busy for {duration(seconds)} to measure its jitter")
        begun = None
        # The finding on steal reports what cannot be read.
        with suppress(Unreadable, OSError, ValueError):
            begun = contention.cpu_times()
        jitter = jitter_of(repeat_for(seconds, make_quantum()))
        # Only a busy CPU can be stolen from.
        (findings["steal"],) = examine(machine._replace(since=begun), [contention.STEAL])
    clock = timer()
    others = [timer_finding(clock), jitter_finding(jitter), instructions_finding()]
    return Report([*findings.values(), *others], clock, jitter)


EXPLAINED = (
    "--profiler instructions counts under Valgrind, which no noise of this machine changes; with a "
    "C compiler, opperf's own allocator keeps what was allocated before out of the counts."
)


def instructions_finding() -> Finding:
    """Returns the finding on Valgrind and the C compiler."""
    try:
        state = Valgrind().version
    except UsageError as error:
        return Finding("instructions", str(error), "unknown", EXPLAINED)
    try:
        heap.library()
    except heap.HeapError as error:
        state += f", without opperf's allocator: {error}"
    return Finding("instructions", state, "ok", EXPLAINED)


LEAST_STATE = 20
"""Least width of the states: a narrower column would break most words."""

INDENT = "    "

STYLES = {"ok": "green", "warn": "bold yellow", "unknown": "dim"}


def title(name: str) -> str:
    """Returns a finding's name in words."""
    return name.replace("_", " ")


def report_text(findings: Sequence[Finding], width: int | None = None) -> str:
    """Returns the report, no wider than `width` but for commands, which are for copying."""
    warnings = [_warning(found, width) for found in findings if found.level == "warn"]
    levels = Counter(found.level for found in findings)
    counts = f"{levels['unknown']} unknown, {levels['ok']} ok"
    closing = f"{pluralize(len(warnings), 'warning')}, {counts}"
    return "\n\n".join([_table(findings, width), *warnings, closing])


def _table(findings: Sequence[Finding], width: int | None) -> str:
    fixed = [
        Column("Finding", [title(found.name) for found in findings]),
        Column("Level", [found.level for found in findings]),
    ]
    states = Column("State", [found.state for found in findings], wraps=True)
    if width is not None:
        width = max(width, sum(column.width + GAP for column in fixed) + LEAST_STATE)
    return table_text([*fixed, states], width)


def _warning(found: Finding, width: int | None) -> str:
    why = f"{title(found.name)}: {found.explanation}"
    told = why if width is None else wrap_message(why, width)
    return "\n".join([told, *([INDENT + found.fix] if found.fix else [])])


def print_report(findings: Sequence[Finding], width: int | None) -> None:
    """Prints the report, with coloured levels on a terminal."""
    text = report_text(findings, width)
    if width is None:
        print(text)
        return
    # Costs some 50 ms to import, and only a terminal shows it.
    from rich.console import Console
    from rich.text import Text

    coloured = Text(text)
    for level, style in STYLES.items():
        # Words are between gaps only in the table.
        coloured.highlight_regex(rf"(?<= {{{GAP}}}){level}(?= {{{GAP}}})", style)
    Console(highlight=False).print(coloured, soft_wrap=True)
