"""Searches inputs for operators without a rule, by trying them in a worker, and caches them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.execution.paces import cache_file, load, store
from opperf.model import Case, Operator, Settings, Struct
from opperf.rules.search import SearchResult, Tries, scale, search
from opperf.rules.sizes import INT64, PRESETS
from opperf.rules.values import Arguments, with_dtype
from opperf.sources.registry import Found
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker
from opperf.worker.protocol import Trial

BASELINE = "float32"
"""Dtype of the inputs during the search; a case has them in its own dtype."""

TRIAL_TIMEOUT_S = 10.0
"""Limit on a trial: a thousand times the time of a call of such small inputs."""


class Entry(Struct, frozen=True):
    """The cached result of an operator's search."""

    searched: SearchResult
    sizes: dict[str, Found] = {}
    """By size, the inputs scaled to that size, under the operator's name."""


Entries = dict[str, Entry]


def make_trier(worker: Worker, operator: Operator, settings: Settings) -> Tries:
    """Returns a function that calls an operator once in a worker."""

    def tries(arguments: Arguments) -> Trial:
        case = Case(
            target=operator.target,
            arguments=with_dtype(operator, arguments, BASELINE),
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
    """Returns inputs of the named operators at the selection's size, and the reason why others have
    none. Results are cached, except for another interpreter, whose framework may be another build,
    and with modules of the user's, whose operators may have changed. `say` prints what takes
    time."""
    size = INT64 if selection.int64_tensor else selection.size
    is_cached = not (worker.is_foreign or selection.settings.imports)
    path = cache_file("search", framework) if is_cached else None
    entries, warnings = load(path, Entries)
    entries = entries or {}
    before = dict(entries)
    missing = [
        name
        for name in names
        if name not in entries
        or not (entries[name].searched.arguments is None or size in entries[name].sizes)
    ]
    if missing:
        say(f"searching for inputs of {', '.join(missing)}, which have no rule")
        listing = worker.listing().operators
        operators = {listed.operator.label: listed.operator for listed in listing}
        for name in missing:
            tries = make_trier(worker, operators[name], selection.settings)
            entries[name] = _extend_entry(entries.get(name), operators[name], size, tries)
        # Refused calls may have left the process in any state; cases get a new one.
        worker.end()
    if entries != before:
        warnings += store(path, entries, "the result of the search")
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


def _extend_entry(entry: Entry | None, operator: Operator, size: str, tries: Tries) -> Entry:
    searched = search(operator, tries) if entry is None else entry.searched
    sizes = {} if entry is None else dict(entry.sizes)
    if searched.arguments is not None:
        sizes[size] = {operator.label: scale(searched.arguments, tries, PRESETS[size])}
    return Entry(searched, sizes)
