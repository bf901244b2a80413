"""The cases that the rules plan, as the files in `planned/` have them.

    python -m tests.integration.planned_cases [FRAMEWORK ...]

writes these files anew and prints what that changes: by operator and size, the cases that are gone
and those that are new. Ids are hashes of all that is measured: shapes, dtypes, contents, settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import opperf  # noqa: F401  (restores what MXNet needs of NumPy)
from opperf.frameworks import is_available, load
from opperf.instruments.profilers import find_profilers
from opperf.model import Case, Settings
from opperf.plurals import pluralize
from opperf.results.text import inputs_text
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

SIZES = ("small", "default")
"""The large size differs from the default one in numbers that both come from."""

FILES = {"mxnet": "1.9.", "numpy": "1.26.", "torch": "2.13.0+cpu", "jax": "0.7.1"}
"""Frameworks, and the beginning of the versions whose registry the files are of."""

WHOLE = ("mxnet", "numpy")
"""Frameworks whose files have a line for each case, with its inputs; those of the others, which
are more, have the ids alone, in a line for each operator and size."""

DIGITS = 8
"""Of an id in these files: enough for the cases of one operator, and what `--id` takes."""


def file_of(name: str) -> Path:
    """Where a framework's lines are."""
    return Path(__file__).parent / "planned" / f"{name}.txt"


def is_of(name: str) -> bool:
    """Whether the framework is installed in the version that its file is of."""
    return is_available(name) and load(name).version().startswith(FILES[name])


def planned(name: str) -> Iterator[str]:
    """A line for each case: operator, size, id, inputs; or one for each operator and size."""
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    for size in SIZES:
        cases = plan(framework, Selection(size=size, settings=settings)).cases
        if name in WHOLE:
            yield from (f"{one.label}\t{size}\t{one.id}\t{inputs_text(one)}\n" for one in cases)
        else:
            yield from ids_of(cases, size)


def ids_of(cases: Iterable[Case], size: str) -> Iterator[str]:
    """A line for each operator, in the order of their names: operator, size, sorted ids."""
    made: dict[str, list[str]] = {}
    for case in cases:
        made.setdefault(case.label, []).append(case.id[:DIGITS])
    for label, ids in sorted(made.items()):
        yield f"{label}\t{size}\t{' '.join(sorted(ids))}\n"


class Changed(NamedTuple):
    """The ids of an operator's cases at a size."""

    subject: str
    gone: list[str]
    new: list[str]
    kept: int

    def __str__(self) -> str:
        ids = [f"-{one}" for one in self.gone] + [f"+{one}" for one in self.new]
        return f"{self.subject}: {self.kept} kept, {' '.join(ids)}"


def changes(before: str, after: str) -> list[Changed]:
    """What differs between two texts of a file, by operator and size."""
    old, new = _ids(before), _ids(after)
    return [
        Changed(key, sorted(had - has), sorted(has - had), len(had & has))
        for key in sorted(old.keys() | new.keys())
        if (had := old.get(key, set())) != (has := new.get(key, set()))
    ]


def _ids(text: str) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {}
    for line in text.splitlines():
        label, size, ids, *_ = line.split("\t")
        made.setdefault(f"{label}, {size}", set()).update(ids.split())
    return made


def rewrite(name: str) -> None:
    """Writes a framework's file anew, and prints what that changes."""
    path = file_of(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = "".join(planned(name))
    path.write_text(after, encoding="utf-8")
    found = changes(before, after)
    for one in found:
        print(f"{name} {one}")
    gone, new = sum(len(one.gone) for one in found), sum(len(one.new) for one in found)
    kept = sum(map(len, _ids(after).values())) - new
    print(f"{name}: {pluralize(kept, 'case')} kept, {gone} gone, {new} new")


if __name__ == "__main__":
    for framework_name in sys.argv[1:] or FILES:
        if is_of(framework_name):
            rewrite(framework_name)
        else:
            print(f"{framework_name}: its file is of version {FILES[framework_name]}, not here")
