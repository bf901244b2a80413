"""Whether the arms of a session have loaded different files, where they should.

An arm with an interpreter or a path of its own is another build: if it measures the same file as
the other arm, the session compares that with itself, and its verdict is always the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opperf.comparison.ab.arms import ArmSpec
from opperf.errors import UsageError
from opperf.frameworks.user_modules import SEARCHED
from opperf.model import LoadedFile, Role
from opperf.worker.protocol import Loaded

OF_LIBRARIES = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables by which an arm loads other libraries for the same modules."""


def have_own_modules(arms: Iterable[ArmSpec]) -> bool:
    """Whether the arms differ in what they import: by interpreter, or by a path."""
    return _differ(arms, SEARCHED)


def are_builds(arms: Iterable[ArmSpec]) -> bool:
    """Whether the arms differ in what they load, by libraries too."""
    return _differ(arms, (*SEARCHED, *OF_LIBRARIES))


def _differ(arms: Iterable[ArmSpec], variables: Iterable[str]) -> bool:
    chosen = {(arm.python, *(arm.variables.get(name, "") for name in variables)) for arm in arms}
    return len(chosen) > 1


def check_loaded(arms: Mapping[str, ArmSpec], loaded: Mapping[str, Loaded]) -> str:
    """Returns a sentence if builds have loaded nothing that differs; else nothing. Raises
    `UsageError` if both measure the same file of a module, and if their paths are all that could
    differ. A shared file with the calls of what differs is no fault."""
    if not are_builds(arms.values()):
        return ""
    shared = _shared([arm.files for arm in loaded.values()])
    both = f"{', '.join(list(arms)[:-1])} and {list(arms)[-1]}"
    if have_own_modules(arms.values()):
        for found in shared:
            if found.role is Role.MEASURED:
                raise UsageError(
                    f"{both} load the same file of {found.name}, {found.file}, which would be "
                    "compared with itself: install a build of its own for each arm, or name the "
                    "file in place of the module, to measure it in both"
                )
    modules = {(found.name, found.file) for arm in loaded.values() for found in arm.files}
    if len(shared) < len(modules) or len({arm.libraries for arm in loaded.values()}) > 1:
        return ""
    names = ", ".join(f"{found.name} ({found.file})" for found in shared)
    if len({arm.python for arm in arms.values()}) == 1 and have_own_modules(arms.values()):
        raise UsageError(
            f"{both} load the same {names}, and nothing that the path of one alone leads to: it "
            f"would be compared with itself; check {SEARCHED[0]} of both"
        )
    return f"{both} load the same {names}: two builds would each have their own"


def _shared(arms: Sequence[Iterable[LoadedFile]]) -> list[LoadedFile]:
    """Returns the files that all have loaded under the same name."""
    first, *others = (list(files) for files in arms)
    named = [{(found.name, found.file) for found in files} for files in others]
    return [found for found in first if all((found.name, found.file) in own for own in named)]
