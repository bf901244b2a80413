"""Savings by fusing the chains of a recorded program: of the bytes that no kernel would move any
more, and of the calls that would not be dispatched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opperf.model import EAGER, Chain, ChainCall, ChainTarget, MetricKind, Peaks, Record, Run
from opperf.reports.hotspots.account import Account, difference
from opperf.reports.hotspots.times import add_figures, time_of
from opperf.results.roofline import NS, levels_of
from opperf.results.units import Figure


class Saving(NamedTuple):
    """Saving by one kernel in the place of a chain. Times are in nanoseconds, in a step."""

    chain: Chain
    bytes_ns: float | None
    """Of bytes that are not moved; None if the calls were not measured."""
    dispatch_ns: float | None
    """Of calls that are not made; None if it is not known what one takes."""
    step_ns: float | None
    """Of the step; None if it is unknown, or that of another machine."""
    eager: Figure | None = None
    """Of the chain as it was measured: with one call after the other."""
    compiled: Figure | None = None
    compiled_mode: str = ""

    @property
    def between_bytes(self) -> int:
        return self.chain.count * self.chain.between_bytes

    @property
    def saved_ns(self) -> float | None:
        """The estimate."""
        known = [time for time in (self.bytes_ns, self.dispatch_ns) if time is not None]
        return None if self.bytes_ns is None else sum(known)

    @property
    def share(self) -> float | None:
        """Of the step that the estimate is."""
        return None if self.saved_ns is None or not self.step_ns else self.saved_ns / self.step_ns

    @property
    def measured(self) -> Figure | None:
        """The compiler's saving, as measured."""
        if self.eager is None or self.compiled is None:
            return None
        return difference(self.eager, self.compiled)


class Savings(NamedTuple):
    """The chains of a program, those that would save most first."""

    rows: tuple[Saving, ...]
    has_peaks: bool
    """Whether the time of bytes is by measured bandwidths; else by shares of the calls' times."""
    call_ns: float | None
    """Time of a call's dispatch."""


def savings_of(run: Run, account: Account) -> Savings:
    """Returns what fusing would save in a step of a run's program."""
    measured: dict[str, Record] = {}
    for record in run.records:
        if not isinstance(record.case.target, ChainTarget) and time_of(record) is not None:
            measured.setdefault(record.case.call_id, record)
    peaks = [record.peaks for record in measured.values() if record.peaks is not None]
    call_ns = account.dispatch_ns
    if call_ns is None:
        call_ns = _dispatch(account.program.framework, peaks)
    step = account.step.value if account.step is not None and account.is_comparable else None
    modes = _measured_chains(run)
    rows = []
    for chain in account.program.chains:
        times = modes.get(chain.id, {})
        compiled = next((mode for mode in times if mode != EAGER), "")
        by_bytes = _bytes_ns(chain, measured, call_ns or 0.0)
        rows.append(
            Saving(
                chain,
                None if by_bytes is None else chain.count * by_bytes,
                None if call_ns is None else chain.count * (len(chain.calls) - 1) * call_ns,
                step,
                _in_step(chain, times.get(EAGER)),
                _in_step(chain, times.get(compiled)),
                compiled,
            )
        )
    rows.sort(key=lambda row: (-(row.saved_ns or 0.0), -row.between_bytes))
    return Savings(tuple(rows), any(own.bandwidths for own in peaks), call_ns)


def _in_step(chain: Chain, time: Figure | None) -> Figure | None:
    return None if time is None else add_figures([(chain.count, time)])


def _dispatch(framework: str, peaks: Iterable[Peaks]) -> float | None:
    found = (peak for own in peaks for peak in own.dispatches)
    return next((peak.ns for peak in found if peak.framework == framework), None)


def _measured_chains(run: Run) -> dict[str, dict[str, Figure]]:
    """Returns the times of the measured chains by their ids and modes."""
    found: dict[str, dict[str, Figure]] = {}
    for record in run.records:
        time = time_of(record)
        if isinstance(record.case.target, ChainTarget) and time is not None:
            found.setdefault(record.case.target.chain, {})[record.case.settings.mode] = time
    return found


def _bytes_ns(chain: Chain, measured: Mapping[str, Record], call_ns: float) -> float | None:
    """Returns the time of the bytes between the calls, each time that they are made; None if a call
    that moves some was not measured."""
    total = 0.0
    for call in chain.calls:
        record = measured.get(call.call)
        time = None if record is None else time_of(record)
        if time is None or record is None:
            if call.between_bytes:
                return None
            continue
        total += saved_of_call(call, record, time.value, call_ns)
    return total


def saved_of_call(call: ChainCall, record: Record, time_ns: float, call_ns: float) -> float:
    """Returns the time that a call takes for the bytes between it and others: by the bandwidth of
    the memory that holds all that it moves, and of an elementwise call at most their share of its
    time beyond dispatch. Without a bandwidth it is that share, and nothing of a product's or a
    reduction's time, of which most may be arithmetic."""
    # The time of a kernel has no dispatch in it.
    is_wall = record.time_kind is MetricKind.WALL
    most = max(0.0, time_ns - call_ns) if is_wall else time_ns
    is_pointwise = call.kind == "pointwise" and record.moved_bytes > 0
    if is_pointwise:
        most *= min(1.0, call.between_bytes / record.moved_bytes)
    bandwidths = () if record.peaks is None else record.peaks.bandwidths
    copies = [peak for peak in bandwidths if peak.kernel == "copy"]
    levels = levels_of(copies, record.case.settings.threads)
    if not levels:
        return most if is_pointwise else 0.0
    moved = max(record.moved_bytes, call.between_bytes)
    level = next((level for level in levels if moved <= level.capacity), levels[-1])
    return min(most, NS * call.between_bytes / level.rate)
