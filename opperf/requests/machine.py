"""Examines this machine, and lists the frameworks that it can measure."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import msgspec

from opperf.errors import OutputError, UsageError
from opperf.frameworks import available, identity, is_available, variables_of
from opperf.frameworks.installed import tested_versions
from opperf.frameworks.mentioned import choose_framework, report_choice
from opperf.machine.kernel import Unreadable, this_machine
from opperf.requests.declaring import Option, Say, argument
from opperf.requests.operators import Framework
from opperf.requests.outputs import JsonRequest

if TYPE_CHECKING:
    from opperf.machine.health.finding import Finding
    from opperf.machine.health.jitter import Health
    from opperf.machine.kernel import Machine
    from opperf.model import Peaks
    from opperf.reports.this_machine import FrameworkRow

LONGEST_S = 600
"""Limit on the jitter test: what does not occur in ten minutes is too rare to disturb a run."""

JITTER_S = 5.0
"""Duration of the jitter test: what disturbs a run of minutes occurs in it."""


class DoctorRequest(JsonRequest, frozen=True, kw_only=True):
    """Finds what makes timings noisy on this machine."""

    seconds: Annotated[
        float,
        Option(
            "Duration of the jitter test, which keeps one core busy; 0 skips it.",
            low=0,
            high=LONGEST_S,
            metavar="SECONDS",
        ),
    ] = JITTER_S
    strict: Annotated[
        bool,
        Option("Exit with 1 if there is any warning.", section="Plan, resumption and exit code"),
    ] = False
    peaks: Annotated[
        bool,
        Option(
            "Measure instead how fast this machine moves bytes, by level of cache and number of "
            "cores, how fast each installed framework, or the one of --framework, multiplies "
            "matrices of each dtype, on GPUs too, and how long its shortest call takes. Takes a "
            "minute on two cores, and is kept for all later runs of this machine.",
            excludes=dict.fromkeys(("seconds", "strict"), "peaks are measured instead of noise"),
        ),
    ] = False
    framework: Framework = ""

    def measure_peaks(self, say: Say) -> tuple[Peaks, ...]:
        """Measures and keeps the peaks of this machine, with all installed frameworks or the named
        one. Those that others reached before remain."""
        from opperf.execution.device_peaks import measure_peaks
        from opperf.machine.health.contention import load
        from opperf.machine.health.examine import examine
        from opperf.machine.kept_peaks import keep, kept

        self.check_outputs()
        if self.framework:
            # Raises an error for one that is unknown or not installed, before a minute has passed.
            identity(self.framework)
        named = [self.framework] if self.framework else filter(is_available, available())
        machine = this_machine(())
        for finding in examine(machine, [load]):
            if finding.level == "warn":
                say(f"warning: load {finding.state}: peaks are too low on a busy machine")
        found = measure_peaks(sorted(named), machine.cpus, say, kept(machine.cpus).peaks)
        try:
            say(f"kept in {keep(machine.cpus, found)}")
        except OutputError as error:
            say(f"warning: not kept: {error}")
        return found

    def run(self, say: Say) -> Health:
        self.check_outputs()
        choice = choose_framework(self.framework)
        report_choice(choice, say)
        return examine_health(this_machine(variables_of(choice.name)), self.seconds, say)


def examine_health(machine: Machine, seconds: float, say: Say) -> Health:
    """Runs all probes, then a jitter test of `seconds`, unless that is 0."""
    from opperf.machine.health import contention, jitter
    from opperf.machine.health.examine import examine
    from opperf.results.text import duration

    # The probes come first, as the test itself is a load.
    findings = {finding.name: finding for finding in examine(machine)}
    measured = None
    if seconds > 0:
        say(f"keeping a core busy for {duration(seconds)} to measure its jitter")
        begun = None
        # The finding on steal reports what cannot be read.
        with suppress(Unreadable, OSError, ValueError):
            begun = contention.cpu_times()
        measured = jitter.jitter_of(jitter.repeat_for(seconds, jitter.make_quantum()))
        # Only a busy CPU can be stolen from.
        (findings["steal"],) = examine(machine._replace(since=begun), [contention.steal])
    clock = jitter.timer()
    others = [
        jitter.timer_finding(clock),
        jitter.jitter_finding(measured),
        instructions_finding(),
        peaks_finding(machine),
    ]
    return jitter.Health([*findings.values(), *others], clock, measured)


EXPLAINED = (
    "--profiler instructions counts under Valgrind, which no noise of this machine changes; with a "
    "C compiler, opperf's own allocator keeps what was allocated before out of the counts."
)


def instructions_finding() -> Finding:
    """Returns the finding on Valgrind and the C compiler."""
    from opperf.instruments.callgrind import valgrind
    from opperf.instruments.callgrind.valgrind import Valgrind
    from opperf.machine.health.finding import Finding

    try:
        state = Valgrind().version
    except UsageError as error:
        return Finding("instructions", str(error), "unknown", EXPLAINED)
    try:
        valgrind.library()
    except valgrind.HeapError as error:
        state += f", without opperf's allocator: {error}"
    return Finding("instructions", state, "ok", EXPLAINED)


PEAKS_EXPLAINED = "With its peaks, reports say how near to those of this machine operators come."


def peaks_finding(machine: Machine) -> Finding:
    """Returns the finding on the kept peaks."""
    from opperf.machine.health.finding import Finding
    from opperf.machine.kept_peaks import kept

    peaks, problem = kept(machine.cpus)
    if peaks:
        measured = f"{peaks[0].measured}, of {', '.join(found.device for found in peaks)}"
        return Finding("peaks", f"measured {measured}", "ok", PEAKS_EXPLAINED)
    state = problem or f"not measured; {MEASURE_PEAKS} does"
    return Finding("peaks", state, "unknown", PEAKS_EXPLAINED, MEASURE_PEAKS)


MEASURE_PEAKS = "opperf doctor --peaks"


class FrameworksRequest(JsonRequest, frozen=True, kw_only=True):
    """Describes the known frameworks, or named ones with what they have."""

    names: Annotated[tuple[str, ...], argument("[NAME]...")] = ()

    def run(self, say: Say) -> list[FrameworkRow]:
        from opperf.reports.this_machine import describe_framework, known_frameworks

        self.check_outputs()
        if not self.names:
            return known_frameworks()
        return [_with_details(describe_framework(name)) for name in self.names]


def _with_details(one: FrameworkRow) -> FrameworkRow:
    # Listing the frameworks starts no worker, and need not load what manages one.
    from opperf.worker.client import Worker

    one = msgspec.structs.replace(one, tested_versions=tested_versions(one.name))
    if one.advice:
        return one
    with Worker(one.name) as worker:
        return msgspec.structs.replace(one, choices=worker.choices())
