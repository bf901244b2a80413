"""Contents of integer tensors that a trace has in files beside it: the smallest and the largest
number, which bound what is drawn in their place."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from opperf.dtypes import DTYPES
from opperf.reading import read_bytes
from opperf.traces.values import Placed, Unbuildable, dtype_of

NAME = re.compile(r"nid_(\d+)_tid_(\d+)\.dat")
"""The file of a node's input, by the numbers of the node and of the tensor among its inputs."""

FOLDER_END = "_resources"
"""End of the name of a trace's folder of such files."""

LARGEST = 64 << 20
"""Most bytes that are read of a file, or of all in an archive: indices of a batch have fewer."""

Range = tuple[int, int]


class Key(NamedTuple):
    """An input of a node."""

    node: int
    tensor: int


Contents = Mapping[Key, "bytes | Path"]
"""Files of inputs, or what is in them."""


def in_folder(trace: Path) -> Contents:
    """Returns the files beside a trace's file."""
    # PyTorch omits one extension, and the trace may have been compressed later.
    stems = dict.fromkeys((trace.stem, trace.name.removesuffix(".gz").removesuffix(".json")))
    found: dict[Key, bytes | Path] = {}
    for folder in (trace.parent / f"{stem}{FOLDER_END}" for stem in stems):
        for file in folder.glob("nid_*.dat") if folder.is_dir() else ():
            match = NAME.fullmatch(file.name)
            if match and file.is_file() and file.stat().st_size <= LARGEST:
                found[Key(int(match[1]), int(match[2]))] = file
    return found


def in_archive(archive: tarfile.TarFile) -> Contents:
    """Returns what is in the files of an archive, up to `LARGEST` bytes together."""
    found: dict[Key, bytes | Path] = {}
    total = 0
    for entry in archive:
        match = NAME.fullmatch(PurePosixPath(entry.name).name)
        if match is None or not entry.isreg() or total + entry.size > LARGEST:
            continue
        file = archive.extractfile(entry)
        if file is not None:
            found[Key(int(match[1]), int(match[2]))] = file.read()
            total += entry.size
    return found


def ranges_of(node: int, tensors: Sequence[Placed], contents: Contents) -> dict[int, Range]:
    """Returns the smallest and the largest number of a node's integer inputs that have a file, by
    their positions among its tensors. A view's file is not used: its writer takes the offset of
    elements for one of bytes."""
    import numpy as np

    found: dict[int, Range] = {}
    for position, ref, kind in tensors:
        content = contents.get(Key(node, position))
        if content is None or ref.offset:
            continue
        try:
            dtype = dtype_of(kind)
        except Unbuildable:
            continue
        if DTYPES[dtype].kind != "integer":
            continue
        size = DTYPES[dtype].bytes
        raw = read_bytes(content, LARGEST) if isinstance(content, Path) else content
        numbers = np.frombuffer(raw[: len(raw) // size * size], dtype)[: ref.size]
        if len(numbers):
            found[position] = int(numbers.min()), int(numbers.max())
    return found
