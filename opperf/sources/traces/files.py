"""Traces as a kind of file."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path
from typing import cast

from opperf.errors import UsageError
from opperf.sources.traces.archives import (
    FAILURES,
    JSON_ENDS,
    folder_files,
    is_archive,
    open_decompressed,
)
from opperf.sources.traces.cases import TraceSource

HEAD = 1 << 16
"""Bytes at the beginning of a file by which it is recognised."""

EXECUTION_TRACE = re.compile(rb'"nodes"\s*:\s*\[\s*(\{|\])')
SCHEMA = re.compile(rb'"schema"\s*:\s*"\d')
EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[|"deviceProperties"\s*:|^\s*\[\s*\{[^{}]*"ph"\s*:')


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
            if path.is_dir():
                return any(_is_trace(file) for file in folder_files(path))
            return _is_trace(path)
        except (*FAILURES, UsageError):
            return False

    def open(self, path: Path) -> TraceSource:
        return TraceSource([path])


def _is_trace(path: Path) -> bool:
    with open_decompressed(path) as stream:
        if not is_archive(stream):
            return is_beginning(cast(io.BufferedReader, stream).read(HEAD))
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for entry in archive:
                if entry.isreg() and entry.name.endswith(JSON_ENDS):
                    content = archive.extractfile(entry)
                    return content is not None and is_beginning(content.read(HEAD))
    return False


def is_beginning(head: bytes) -> bool:
    """Whether the beginning of a file is that of a trace."""
    if EVENTS.search(head):
        return True
    return bool(EXECUTION_TRACE.search(head) and SCHEMA.search(head))


def source() -> TraceFiles:
    """Returns the kind of file; called by name, as an entry point is."""
    return TraceFiles()
