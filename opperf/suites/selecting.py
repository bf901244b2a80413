"""Selection of benches by words: names, groups, tags and globs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Bench


def words_for(bench: Bench) -> set[str]:
    """Returns what selects a bench: its name, group, install group, matrix and tags, and the last
    part of its definition."""
    words = {bench.name, bench.group, bench.env.name, bench.matrix, *bench.tags}
    if bench.workload == "script":
        words.update(_last(PurePath(path)) for path in bench.content)
    return words - {""}


def _last(path: PurePath) -> str:
    return path.parent.name if path.suffix else path.name


def select(
    benches: Sequence[Bench], selected: Iterable[str], excluded: Iterable[str]
) -> tuple[Bench, ...]:
    """Returns the benches that one of the `selected` words or globs fits, all without any, and none
    of the `excluded` ones fits. Raises `UsageError` for a word that fits no bench."""
    by_name = {bench.name: words_for(bench) for bench in benches}
    chosen = set(by_name)
    wanted = list(selected)
    if wanted:
        chosen = {name for word in wanted for name in _fitting(word, by_name, "--select")}
    for word in excluded:
        chosen -= _fitting(word, by_name, "--exclude")
    return tuple(bench for bench in benches if bench.name in chosen)


def _fitting(word: str, benches: dict[str, set[str]], option: str) -> set[str]:
    found = {
        name
        for name, words in benches.items()
        if any(fnmatchcase(element, word) for element in words)
    }
    if not found and benches:
        known = [*benches, *sorted({element for words in benches.values() for element in words})]
        raise UsageError(
            f"{option} {word}: no bench has this name, group or tag{suggest(word, known)}"
        )
    return found
