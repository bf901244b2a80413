"""The commands that follow a comparison: one measures again, interleaved, what two files can only
make suspect, and one lists the functions that made the largest change of a count."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf import frameworks
from opperf.comparison.compared import ComparedRow, Comparison, size
from opperf.comparison.files.reading import Entry, Measured
from opperf.errors import FrameworkError
from opperf.instruments.instructions import INSTRUCTIONS, INSTRUCTIONS_BACKWARD
from opperf.machine.environment import ABSENT, Difference
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.model import DECLARED, Environment
from opperf.results.kept import path_of, profile_folder
from opperf.results.settings import needed_settings, option_words
from opperf.shares import share_text
from opperf.sources.selecting import Selection
from opperf.statistics.data import Thresholds, Verdict

MAX_CASES = 20
"""Most cases of the command, the most changed: interleaved runs take minutes for as many."""

SHORTEST_ID, LONGEST_ID = 6, 16
"""Characters of a shortened id, and of a whole one."""

PLACEHOLDERS = ("python:/path/to/base/python", "python:/path/to/new/python")
"""Where the two builds are is not in the files. Two builds are two interpreters."""

BUILD = ("versions.", "features.", "python", "settings.python")
"""Prefixes of the fields in which two builds differ."""

THREAD_FIELDS = frozenset({"settings.threads", *(f"threads.{name}" for name in THREAD_VARIABLES)})
"""Fields that say how many threads computed; where one has no value, the framework chose."""

ARM_SETTINGS = tuple(
    name for name, setting in DECLARED.items() if setting.axis and name != "python"
)
"""Settings that an arm can be given, apart from the interpreter."""


def confirming_command(found: Comparison, base: Measured, new: Measured) -> str:
    """The command for the suspect cases; empty where there are none that it could measure."""
    entries, environment = (*base.entries, *new.entries), base.environment or new.environment
    patterns = {entry.operator: entry.pattern for entry in entries}
    rows = [row for row in _suspect_rows(found.rows) if patterns.get(row.operator, row.operator)]
    fields = {difference.name for difference in found.differences}
    # Both arms of `ab` measure one framework.
    if not rows or "framework" in fields:
        return ""
    arms = [_arm(found.differences, side) for side in range(2)]
    if not any(arms) or any(field.startswith(BUILD) for field in fields):
        arms = [[place, *arm] for place, arm in zip(PLACEHOLDERS, arms, strict=True)]
    settings = _settings(rows, entries)
    common = {
        name: value
        for name, value in needed_settings(
            settings, environment.devices if environment else ()
        ).items()
        if f"settings.{name}" not in fields
    }
    source = _source(rows, base, new)
    cases = _case_words(source, rows, patterns, base, new)
    if source is not None:
        # The file has the settings of the calls.
        common = {name: value for name, value in common.items() if DECLARED[name].process}
    both = [
        text
        for name in ARM_SETTINGS
        if name in common and not DECLARED[name].common
        for text in DECLARED[name].assignments(common[name])
    ]
    is_own = found.threshold != Thresholds().threshold
    words = [
        *("opperf", "ab", *cases),
        *(word for text in (*arms[0], *both) for word in ("--a", text)),
        *(word for text in (*arms[1], *both) for word in ("--b", text)),
        *_thread_words(settings.get("threads", 1), [*arms[0], *arms[1], *both]),
        *(_framework_words(environment) if environment else ()),
        *(("--threshold", share_text(found.threshold)) if is_own else ()),
        *option_words({n: value for n, value in common.items() if DECLARED[n].common}),
    ]
    return shlex.join(words)


class Source(NamedTuple):
    """A run file that has the cases, and their ids in it, in the order of the rows."""

    path: str
    ids: tuple[str, ...]


def _source(rows: Sequence[ComparedRow], base: Measured, new: Measured) -> Source | None:
    """Returns the run file that has all cases, the base before the new one; None without one."""
    for side in (base, new):
        ids = _selectors(rows[:MAX_CASES], side)
        if not side.side.averages and ids and all(ids):
            return Source(side.side.path, ids)
    return None


def _case_words(
    source: Source | None,
    rows: Sequence[ComparedRow],
    patterns: Mapping[str, str],
    base: Measured,
    new: Measured,
) -> list[str]:
    """Returns the words for the cases: a file and ids, or operators and their options."""
    if source is not None:
        return [source.path, "--id", ",".join(_shortened(source.ids, base, new))]
    operators = dict.fromkeys(patterns.get(row.operator, row.operator) for row in rows)
    named = list(operators)[:MAX_CASES]
    ids = next(
        (found for side in (base, new) if all(found := _selectors(rows[:MAX_CASES], side))), ()
    )
    chosen = ["--id", ",".join(_shortened(ids, base, new))] if ids else []
    return [*named, *selection_words(base.selection or new.selection), *chosen]


def _selectors(rows: Iterable[ComparedRow], side: Measured) -> tuple[str, ...]:
    """Returns the ids of the rows' cases in a file; empty for one that it does not have."""
    by_case = {
        (entry.operator, entry.inputs, entry.differing): entry.selector for entry in side.entries
    }
    by_id = {entry.id: entry.selector for entry in side.entries if entry.id}
    found = (
        by_id.get(row.id) or by_case.get((row.operator, row.inputs, row.settings), "")
        for row in rows
    )
    return tuple(dict.fromkeys(found))


def _shortened(ids: Iterable[str], base: Measured, new: Measured) -> list[str]:
    """Returns the ids, as short as they are distinct in either file."""
    known = {entry.selector for side in (base, new) for entry in side.entries}
    length = next(
        (n for n in range(SHORTEST_ID, LONGEST_ID) if len({id[:n] for id in known}) == len(known)),
        LONGEST_ID,
    )
    return [id[:length] for id in ids]


def _suspect_rows(rows: Iterable[ComparedRow]) -> list[ComparedRow]:
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT and row.described.is_time]
    suspect.sort(key=size)
    cases: dict[tuple[str, ...], ComparedRow] = {}
    for row in suspect:
        cases.setdefault((row.operator, row.inputs, row.settings), row)
    return list(cases.values())


def _settings(rows: Iterable[ComparedRow], entries: Iterable[Entry]) -> dict[str, Any]:
    """Returns the settings of the case with the largest change, or else of any case."""
    with_settings = [entry for entry in entries if entry.settings]
    by_id = {entry.id: entry for entry in with_settings}
    chosen = next((by_id[row.id] for row in rows if row.id in by_id), None)
    chosen = chosen or next(iter(with_settings), None)
    return {**chosen.settings, **chosen.effort} if chosen else {}


def _arm(differences: Iterable[Difference], side: int) -> list[str]:
    """Returns the assignments that make an arm like one side in what differs."""
    found: list[str] = []
    for differing in differences:
        group, _, name = differing.name.partition(".")
        value = (differing.before, differing.after)[side]
        if differing.name in THREAD_FIELDS and value in (None, ABSENT):
            # Without that, an arm has differing thread.
            found += DECLARED["threads"].assignments(None)
        elif value in (None, ABSENT) or isinstance(value, tuple):
            continue
        elif group == "threads":
            found += DECLARED["env"].assignments({name: value})
        elif group == "settings" and name in ARM_SETTINGS:
            found += DECLARED[name].assignments(value)
    return list(dict.fromkeys(found))


def _framework_words(environment: Environment) -> tuple[str, ...]:
    try:
        preferred = frameworks.default_framework()
    except FrameworkError:
        preferred = ""
    name = environment.framework
    return () if name == preferred else ("--framework", name)


def _thread_words(threads: int | None, assigned: Iterable[str]) -> tuple[str, ...]:
    """Returns the option for all threads, where both runs had them and no arm sets its own."""
    names = tuple(f"env:{name}=" for name in THREAD_VARIABLES)
    if threads is not None or any(text.startswith(("threads:", *names)) for text in assigned):
        return ()
    return "--threads", "all"


def _shape_words(shapes: Mapping[str, Iterable[int | str]]) -> Iterable[str]:
    for name, shape in shapes.items():
        yield from ("--shape", f"{name}={'x'.join(map(str, shape))}")


SELECTION_WORDS: dict[str, Callable[[Any], Iterable[str]]] = {
    "size": lambda value: ("--size", value),
    "int64_tensor": lambda value: ("--int64-tensor", "on") if value else (),
    "shapes": _shape_words,
    "swept_shapes": _shape_words,
    "sweeps": lambda value: (
        word
        for name, numbers in value.items()
        for word in ("--sweep", f"{name}={','.join(map(str, numbers))}")
    ),
    "values": lambda value: (
        word for name, one in value.items() for word in ("--arg", f"{name}={one}")
    ),
    "backward": lambda value: () if value else ("--no-backward",),
    "fuzz": lambda value: (
        *("--fuzz-shapes", str(value["count"])),
        *("--min-elements", str(value["least"])),
        *("--max-elements", str(value["most"])),
    ),
}
"""Words of a command for fields of a selection that choose inputs and passes."""


def selection_words(selection: Mapping[str, Any]) -> list[str]:
    """The words of a command that plans the inputs of a run's selection, as its file has it."""
    usual = msgspec.to_builtins(Selection())
    return [
        word
        for name, words in SELECTION_WORDS.items()
        if name in selection and selection[name] != usual.get(name)
        for word in words(selection[name])
    ]


PASS_OF = {INSTRUCTIONS.name: "forward", INSTRUCTIONS_BACKWARD.name: "backward"}
"""The pass whose profile has a metric."""


def explaining_command(found: Comparison) -> str:
    """Returns the command for the largest change of a count; empty without a profile."""
    changed = (Verdict.REGRESSED, Verdict.IMPROVED)
    rows = [row for row in found.rows if row.metric in PASS_OF and row.verdict in changed]
    rows.sort(key=lambda row: (not row.is_worse, -abs(row.change)))
    for row in rows:
        passed = PASS_OF[row.metric]
        dumps = [
            profile_folder(path_of(side.path)) / f"{id}.{passed}.callgrind"
            for side, id in ((found.base, row.id), (found.new, row.other_id))
        ]
        if row.other_id and not found.base.arm and all(dump.is_file() for dump in dumps):
            # No id names both.
            return shlex.join(["opperf", "explain", *map(str, dumps)])
        if (found.base.arm or not row.other_id) and dumps[0].is_file() and dumps[1].parent.is_dir():
            # A session has both sides.
            paths = dict.fromkeys((found.base.path, found.new.path))
            words = ["opperf", "explain", *paths, row.id]
            return shlex.join([*words, *(("--pass", passed) if passed != "forward" else ())])
    return ""
