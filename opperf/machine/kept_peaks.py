"""The measured peaks of this machine, kept in opperf's data folder under what identifies it: those
of another machine with the same home folder have another file."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import psutil

from opperf.decoding import read_as
from opperf.errors import OutputError, one_line
from opperf.folders import data_folder, part_folder
from opperf.machine.gpus import gpu_facts
from opperf.machine.topology import caches, cpu_model
from opperf.model import Struct
from opperf.model.declaring import ID_LENGTH, digest
from opperf.model.peaks import Peaks

GIB = 2**30


class Identity(Struct, frozen=True, kw_only=True):
    """The facts that decide the peaks of a machine, as far as opperf may use it."""

    hostname: str
    cpu: str
    cores: int
    """Number of those that opperf may use."""
    caches: dict[str, str]
    memory_gib: int
    """Rounded: kernels reserve more or less of it."""
    gpus: tuple[str, ...] = ()
    """Models, each once."""

    @property
    def id(self) -> str:
        return digest(self)[:ID_LENGTH]


class KeptPeaks(Struct, frozen=True, kw_only=True):
    """The content of the file."""

    version: Literal[1]
    """Of the form of the file, and of how the peaks in it are measured."""
    machine: Identity
    peaks: tuple[Peaks, ...]


class Found(NamedTuple):
    """The kept peaks of a machine."""

    peaks: tuple[Peaks, ...] = ()
    problem: str = ""
    """Why a file of them is as if it were not there; empty if it was read, or there is none."""


def identify(cpus: Iterable[int]) -> Identity:
    """Returns the identity of this machine, of which opperf may use these cores."""
    return Identity(
        hostname=socket.gethostname(),
        cpu=cpu_model(),
        cores=len(frozenset(cpus)),
        caches={cache.name: cache.size for cache in caches()},
        memory_gib=round(psutil.virtual_memory().total / GIB),
        gpus=tuple(dict.fromkeys(gpu.get("model", "") for gpu in gpu_facts())),
    )


def peaks_file(machine: Identity) -> Path:
    """Returns the path of a machine's file."""
    return data_folder() / "peaks" / f"{machine.id}.json"


def keep(cpus: Iterable[int], peaks: Iterable[Peaks]) -> Path:
    """Keeps peaks in place of all earlier ones, and returns their file. Raises `OutputError`."""
    machine = identify(cpus)
    path = peaks_file(machine)
    content = KeptPeaks(version=1, machine=machine, peaks=tuple(peaks))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part_folder(path.parent) as folder:
            written = folder / path.name
            written.write_bytes(msgspec.json.format(msgspec.json.encode(content)))
            written.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
    return path


def kept(cpus: Iterable[int]) -> Found:
    """Returns the kept peaks of this machine, of which opperf may use these cores."""
    path = peaks_file(identify(cpus))
    try:
        return Found(read_as(path, KeptPeaks).peaks)
    except FileNotFoundError:
        return Found()
    except OSError as error:
        return Found(problem=f"{path} cannot be read: {error.strerror}")
    except msgspec.DecodeError as error:
        return Found(problem=one_line(f"{path} has no peaks that this opperf knows: {error}"))
