"""The entry points of installed packages, by group, read once for each path of imports."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from opperf.errors import UsageError, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import msgspec

PREFIX = "opperf."

Options = TypeVar("Options", bound="msgspec.Struct")


def declared(group: str) -> tuple[EntryPoint, ...]:
    """Returns the entry points of a group, sorted."""
    return _by_group(tuple(sys.path)).get(group, ())


@functools.cache
def _by_group(path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    """Returns the entry points of packages on the path, which take milliseconds to read."""
    # Most commands do without the import.
    from importlib.metadata import entry_points

    found = entry_points()
    groups = [group for group in found.groups if group.startswith(PREFIX)]
    return {group: tuple(sorted(found.select(group=group))) for group in groups}


def load_declared(entry: EntryPoint) -> Any:
    """Returns what an entry point names. Raises `UsageError` if it cannot be loaded."""
    try:
        return entry.load()
    except Exception as error:
        raise UsageError(
            f"{entry.value}, an entry point of the group {entry.group}, cannot be loaded "
            f"({one_line(f'{type(error).__name__}: {error}')}); fix or reinstall its package, or "
            "remove it"
        ) from error


@dataclass(frozen=True)
class PackageOptions:
    """The options of all other packages that were set, by name."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def among(self, kind: type[Options]) -> Options:
        """Returns those of a package, whose fields `kind` declares."""
        names = self.values.keys() & set(kind.__struct_fields__)
        return kind(**{name: self.values[name] for name in names})


NO_OPTIONS = PackageOptions()
