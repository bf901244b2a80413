"""The command `doctor`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from opperf.errors import FOUND
from opperf.frameworks import variables_of
from opperf.results.messages import tell
from opperf.results.text import duration, terminal_width
from opperf.runner.frameworks_command import report_choice
from opperf.runner.health import contention
from opperf.runner.health.examine import examine
from opperf.runner.health.finding import Finding
from opperf.runner.health.instructions import instructions_finding
from opperf.runner.health.jitter import (
    Jitter,
    Timer,
    jitter_finding,
    jitter_of,
    make_quantum,
    repeat_for,
    timer,
    timer_finding,
)
from opperf.runner.health.machine import CpuTimes, Machine, Unreadable, this_machine
from opperf.runner.health.report import print_report


class Report(msgspec.Struct, frozen=True):
    """The content of `doctor --json`."""

    findings: list[Finding]
    timer: Timer
    jitter: Jitter | None


def doctor_command(options: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Prints what makes this machine noisy, and returns the exit code: with `strict`, 1 if there is
    a warning. `changed` are the options that the user set."""
    report_choice(options["framework"], changed, _say)
    machine = this_machine(variables_of(options["framework"]))
    found = report(machine, options["seconds"])
    if options["json"]:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print_report(found.findings, terminal_width())
    warned = any(finding.level == "warn" for finding in found.findings)
    return FOUND if warned and options["strict"] else 0


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
