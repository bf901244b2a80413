"""Traces as a kind of file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opperf.errors import UsageError
from opperf.sources.traces.archives import FAILURES, folder_files, is_trace
from opperf.sources.traces.cases import TraceSource


class TraceFiles:
    """Execution traces and profilers' traces: JSON, compressed, in an archive, or a folder of
    them."""

    name = "execution trace, or trace of a profiler (.json, .json.gz, .tar.gz, or a folder of them)"
    folders = True
    """Whether a folder can be of this kind."""

    def recognizes(self, path: Path) -> bool:
        """Whether the beginning of a file, of the first one of an archive, or of one of a folder is
        that of a trace."""
        try:
            return bool(folder_files(path)) if path.is_dir() else is_trace(path)
        except UsageError:
            # Opening the folder says which file of it cannot be read.
            return True
        except FAILURES:
            return False

    def open(self, path: Path) -> TraceSource:
        return self.open_all([path])

    def open_all(self, paths: Sequence[Path]) -> TraceSource:
        return TraceSource(paths)


def source() -> TraceFiles:
    """Returns the kind of file; called by name, as an entry point is."""
    return TraceFiles()
