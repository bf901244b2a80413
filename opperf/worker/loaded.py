"""Lists what a worker's process has loaded, by which a session tells whether its arms differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from opperf.frameworks import Framework, package_of
from opperf.frameworks.user_modules import loaded_for, loaded_modules, users_modules
from opperf.model import Role, Target
from opperf.model.base import digest
from opperf.worker.protocol import Loaded

MAPS = Path("/proc/self/maps")
"""Linux's list of what is mapped into a process, whose lines end with a path."""


def loaded(framework: Framework, targets: Iterable[Target], imports: Mapping[str, Role]) -> Loaded:
    """Returns the files of the framework, of the modules that were imported for it, of users'
    targets, and of what these have imported of the user's own."""
    package = package_of(framework.name)
    roles = {} if package is None else {package.name: Role.PART}
    own = chain.from_iterable(map(loaded_for, targets))
    files = (*loaded_modules({**roles, **imports}), *own)
    known = {(found.name, found.file) for found in files}
    others = (found for found in users_modules() if (found.name, found.file) not in known)
    return Loaded(tuple(dict.fromkeys((*files, *others))), digest(sorted(_libraries())))


def _libraries() -> set[str]:
    try:
        lines = MAPS.read_text().splitlines()
    except OSError:
        return set()
    paths = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {path for path in paths if ".so" in Path(path).name}
