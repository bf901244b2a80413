"""Inputs for operators without a rule, found by trying them in a worker and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Case, Operator, OperatorTarget, Settings, Struct
from opperf.rules.engine import requested
from opperf.rules.search import Searched, Tries, scaled, search
from opperf.rules.sizes import INT64, PRESETS
from opperf.rules.values import Arguments
from opperf.runner.cache import cache_file, keep, kept
from opperf.runner.pool import Worker
from opperf.runner.trial import Trial
from opperf.sources.registry import Found
from opperf.sources.selecting import Selection

BASELINE = "float32"
"""What inputs are searched in; a case then has them in the dtype it asks for."""

TRIAL_TIMEOUT_S = 10.0
"""Time a proposal may take: a thousand times what a call of such small inputs needs."""


class Entry(Struct, frozen=True):
    """What is kept of an operator's search."""

    searched: Searched
    sizes: dict[str, Found] = {}
    """By size, the inputs scaled to it, under the operator's name."""


Entries = dict[str, Entry]
"""By operator."""


def make_trier(worker: Worker, operator: Operator, settings: Settings) -> Tries:
    """A way to call an operator once, in a worker."""

    def tries(arguments: Arguments) -> Trial:
        case = Case(
            target=OperatorTarget(framework=operator.framework, name=operator.name),
            arguments=requested(operator, arguments, BASELINE),
            settings=settings,
            passes=("forward",),
        )
        return worker.try_call(case, TRIAL_TIMEOUT_S)

    return tries


def search_inputs(
    worker: Worker,
    framework: str,
    names: Iterable[str],
    selection: Selection,
    say: Callable[[str], None],
) -> tuple[Found, dict[str, str]]:
    """Inputs of the operators of these names at the selection's size, and why others have none.

    What an earlier search has found is taken from the cache, which is this process's framework's;
    another interpreter's may be another build. `say` is told what takes time, and what is wrong
    with the cache.
    """
    size = INT64 if selection.int64_tensor else selection.size
    path = None if worker.is_foreign else cache_file("search", framework)
    entries, warnings = kept(path, Entries)
    entries = entries or {}
    before = dict(entries)
    missing = [name for name in names if name not in entries or not _has(entries[name], size)]
    if missing:
        say(f"searching for inputs of {', '.join(missing)}, which no rule knows")
        operators = {one.operator.name: one.operator for one in worker.listing().operators}
        for name in missing:
            tries = make_trier(worker, operators[name], selection.settings)
            entries[name] = _entry(entries.get(name), operators[name], size, tries)
        # Calls that were refused may have left anything behind; what is measured finds a new one.
        worker.end()
    if entries != before:
        warnings += keep(path, entries, "what the search has found")
    for warning in warnings:
        say(f"warning: {warning}")
    found: Found = {}
    reasons = {}
    for name in names:
        entry = entries[name]
        found.update(entry.sizes.get(size, {}))
        if entry.searched.arguments is None:
            reasons[name] = entry.searched.reason
    return found, reasons


def _has(entry: Entry, size: str) -> bool:
    return entry.searched.arguments is None or size in entry.sizes


def _entry(entry: Entry | None, operator: Operator, size: str, tries: Tries) -> Entry:
    """The entry of an operator with its inputs of this size, if there are any."""
    searched = search(operator, tries) if entry is None else entry.searched
    sizes = {} if entry is None else dict(entry.sizes)
    if searched.arguments is not None:
        sizes[size] = {operator.name: scaled(searched.arguments, tries, PRESETS[size])}
    return Entry(searched, sizes)
