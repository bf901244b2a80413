"""Names of a framework that are no public API, or that versions have in different places.

Each framework lists its own in its module `private`, with what needs them.
"""

from __future__ import annotations

import functools
import importlib
from operator import attrgetter
from types import ModuleType
from typing import Any

from opperf.errors import UnsupportedError
from opperf.frameworks.installed import package_version


class PrivateName:
    """A name that is looked up when it is used, as the installed version may lack it.

    `use` is what needs it, for messages; `places` are the places, as `module:attribute`, in which
    versions have it, those of the newest version first. A value of None counts as absent.
    """

    def __init__(self, use: str, *places: str) -> None:
        self.use, self.places = use, places

    def find(self) -> Any:
        """Returns the value; None if this version lacks it."""
        return _find(self.places)

    def get(self) -> Any:
        """Returns the value. Raises `UnsupportedError` if this version lacks it."""
        found = self.find()
        if found is None:
            place = self.places[0]
            package = place.partition(":")[0].partition(".")[0]
            raise UnsupportedError(
                f"{package} {package_version(package)} has no {place.replace(':', '.')}, which "
                f"opperf needs for {self.use}"
            )
        return found


@functools.cache
def _find(places: tuple[str, ...]) -> Any:
    for place in places:
        module, _, path = place.partition(":")
        try:
            found = attrgetter(path)(importlib.import_module(module))
        except (ImportError, AttributeError):
            continue
        if found is not None:
            return found
    return None


def names_in(module: ModuleType) -> dict[str, PrivateName]:
    """Returns the private names that a module lists, by its own names of them."""
    return {name: one for name, one in vars(module).items() if isinstance(one, PrivateName)}


def absent_names(module: ModuleType) -> tuple[str, ...]:
    """Returns those that the installed version lacks, each with what needs it."""
    return tuple(
        f"{private_name.places[0].replace(':', '.')} (for {private_name.use})"
        for private_name in names_in(module).values()
        if private_name.find() is None
    )
