"""The command `doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import click
import msgspec

from opperf.commands.command import command
from opperf.commands.frameworks import FrameworkChoice, read_choice, report_choice
from opperf.errors import FOUND, UsageError
from opperf.frameworks import variables_of
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
from opperf.machine.kernel import CpuTimes, Machine, Unreadable, this_machine
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
    ctx.exit(doctor_command(Request(choice, seconds, strict, json)))


@dataclass(frozen=True)
class Request:
    """The request of `doctor`."""

    framework: FrameworkChoice
    seconds: float
    """Duration of the jitter test; 0 for none."""
    strict: bool
    json: bool


class Report(msgspec.Struct, frozen=True):
    """The content of `doctor --json`."""

    findings: list[Finding]
    timer: Timer
    jitter: Jitter | None


def doctor_command(request: Request) -> int:
    """Prints what makes this machine noisy, and returns the exit code: with `strict`, 1 if there is
    a warning."""
    report_choice(request.framework, _say)
    machine = this_machine(variables_of(request.framework.name))
    found = report(machine, request.seconds)
    if request.json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print_report(found.findings, terminal_width())
    warned = any(finding.level == "warn" for finding in found.findings)
    return FOUND if warned and request.strict else 0


def report(machine: Machine, seconds: float) -> Report:
    """Runs all probes, then a jitter test of `seconds`, unless that is 0."""
    # The probes come first, as the test itself is a load.
    findings = {finding.name: finding for finding in examine(machine)}
    jitter = None
    if seconds > 0:
        _say(f"keeping a core busy for {duration(seconds)} to measure its jitter")
        begun = _cpu_times()
        jitter = jitter_of(repeat_for(seconds, make_quantum()))
        # Only a busy CPU can be stolen from.
        (findings["steal"],) = examine(machine._replace(since=begun), [contention.STEAL])
    clock = timer()
    others = [timer_finding(clock), jitter_finding(jitter), instructions_finding()]
    return Report([*findings.values(), *others], clock, jitter)


def _say(text: str) -> None:
    """Prints a line of progress to standard error."""
    tell(text)


def _cpu_times() -> CpuTimes | None:
    """Returns the CPU times so far; None if they cannot be read, which the finding on steal then
    reports."""
    try:
        return contention.cpu_times()
    except (Unreadable, OSError, ValueError):
        return None


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
"""Minimum width of the states' column: a narrower one would break most words."""

INDENT = "    "

STYLES = {"ok": "green", "warn": "bold yellow", "unknown": "dim"}
"""Style of each level on a terminal with colours."""


def title(name: str) -> str:
    """Returns a finding's name with spaces."""
    return name.replace("_", " ")


def report_text(findings: Sequence[Finding], width: int | None = None) -> str:
    """Returns the report, no wider than `width` except for commands, which are for copying."""
    warnings = [_warning(found, width) for found in findings if found.level == "warn"]
    return "\n\n".join([_table(findings, width), *warnings, _closing(findings)])


def _table(findings: Sequence[Finding], width: int | None) -> str:
    """Returns a table with a row for each finding; long states take several lines."""
    fixed = [
        Column("Finding", [title(found.name) for found in findings]),
        Column("Level", [found.level for found in findings]),
    ]
    states = Column("State", [found.state for found in findings], wraps=True)
    if width is not None:
        width = max(width, sum(column.width + GAP for column in fixed) + LEAST_STATE)
    return table_text([*fixed, states], width)


def _warning(found: Finding, width: int | None) -> str:
    """Returns why it matters, and the command below."""
    why = f"{title(found.name)}: {found.explanation}"
    told = why if width is None else wrap_message(why, width)
    return "\n".join([told, *([INDENT + found.fix] if found.fix else [])])


def _closing(findings: Sequence[Finding]) -> str:
    levels = Counter(found.level for found in findings)
    warnings = pluralize(levels["warn"], "warning")
    return f"{warnings}, {levels['unknown']} unknown, {levels['ok']} ok"


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
