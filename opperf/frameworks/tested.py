"""Versions of frameworks that opperf was run with, and what came of it.

`tested.json` is written by `tools/check_versions.py`, which installs each version and measures
every operator once. `opperf frameworks` and docs/dependencies.md show it.
"""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

TABLE = Path(__file__).with_suffix(".json")
"""The rows, a version of a framework each."""


class SweptVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sweep over a framework's registry at the small size."""

    framework: str
    end: str
    """`oldest` or `newest` of the versions that opperf takes."""
    version: str
    python: str
    operators: int
    """Registered operators that `opperf list` has, aliases folded."""
    measured: int
    """Those with a case that was measured."""
    cases: int
    """Cases that were measured."""
    skipped: int
    """Cases that this version does not support on a CPU."""
    failed: int
    """Cases that failed, crashed or took too long."""
    date: str
    """Day of the sweep, as `2026-11-28`."""
    configurations: int | None = None
    """Largest number of cases of each operator in the sweep; None for all."""


@functools.cache
def _rows() -> tuple[SweptVersion, ...]:
    return msgspec.json.decode(TABLE.read_bytes(), type=tuple[SweptVersion, ...])


def tested_versions(framework: str) -> tuple[SweptVersion, ...]:
    """Returns the tested versions of a framework, the oldest first; none of an unknown one."""
    return tuple(row for row in _rows() if row.framework == framework)


def tested_range(framework: str) -> tuple[str, str] | None:
    """Returns the oldest and the newest tested version of a framework, without patch releases,
    which change no registry; None if none was tested."""
    versions = [".".join(row.version.split(".")[:2]) for row in tested_versions(framework)]
    return (versions[0], versions[-1]) if versions else None
