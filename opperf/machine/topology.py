"""Cores, memory nodes and caches of the processor, from the kernel, and how fast memory is
moved."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from opperf.machine.kernel import (
    CPU_FOLDER,
    PROCFS,
    SYSFS,
    Unreadable,
    parse_cpus,
    read_number,
    read_text,
)


def read_cpuinfo(name: str, proc: Path = PROCFS) -> str:
    """Returns a value of the first CPU in the kernel's description. Raises `Unreadable`."""
    path = proc / "cpuinfo"
    try:
        # Not the whole file, which the kernel takes long to write for many CPUs.
        with path.open(errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() == name:
                    return value.strip()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    raise Unreadable(f"{path} has no {name} of the processor")


def cpu_model(proc: Path = PROCFS) -> str:
    """Returns the processor's name, from the kernel or else from Python."""
    with suppress(Unreadable):
        return read_cpuinfo("model name", proc)
    return platform.processor() or platform.machine()


CACHES = SYSFS / CPU_FOLDER / "cpu0/cache"
"""Folder of the caches of the first core; on most machines all cores have the same."""

KINDS = {"Data": "d", "Instruction": "i"}

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


class Cache(NamedTuple):
    """A cache of a core."""

    level: int
    name: str
    """`L1d`, `L1i`, `L2`, `L3`."""
    size: str
    """As the kernel prints it: `48K`."""
    cpus: frozenset[int] = frozenset()
    """The hardware threads that share it; empty if the kernel does not report them."""

    @property
    def bytes(self) -> int | None:
        """Its size; None of one that is not in a known form."""
        count, unit = self.size[:-1], self.size[-1:]
        return int(count) * UNITS[unit] if unit in UNITS and count.isdecimal() else None


def caches(folder: Path = CACHES) -> Iterator[Cache]:
    """Yields the caches of the first core whose size the kernel reports."""
    for entry in sorted(folder.glob("index*")):
        with suppress(Unreadable):
            level, kind = read_number(entry / "level"), read_text(entry / "type")
            cpus = frozenset[int]()
            with suppress(Unreadable, ValueError):
                cpus = parse_cpus(read_text(entry / "shared_cpu_list"))
            yield Cache(level, f"L{level}{KINDS.get(kind, '')}", read_text(entry / "size"), cpus)


def last_level_bytes(folder: Path = CACHES) -> int | None:
    """Returns the bytes of the last-level cache; None if the kernel does not report them."""
    sizes = [(cache.level, size) for cache in caches(folder) if (size := cache.bytes) is not None]
    return max(sizes)[1] if sizes else None


def siblings(cpu: int, sys: Path = SYSFS) -> frozenset[int]:
    """Returns the hardware threads of a core's physical core; at least the core."""
    # The second is the older name.
    for name in ("core_cpus_list", "thread_siblings_list"):
        with suppress(Unreadable, ValueError):
            path = f"{sys}/{CPU_FOLDER}/cpu{cpu}/topology/{name}"
            return parse_cpus(read_text(path)) | {cpu}
    return frozenset({cpu})


def physical_cores(usable: frozenset[int], sys: Path = SYSFS) -> frozenset[int]:
    """Returns one of the usable hardware threads of each physical core."""
    return frozenset(min(siblings(cpu, sys) & usable) for cpu in usable)


def group_by_node(usable: frozenset[int], sys: Path) -> dict[int, frozenset[int]]:
    """Returns, for each core, the usable cores of its memory node, or else its package."""
    nodes: list[frozenset[int]] = []
    for path in sys.glob("devices/system/node/node[0-9]*/cpulist"):
        with suppress(Unreadable, ValueError):
            nodes.append(parse_cpus(read_text(path)) & usable)
    found = {cpu: node for node in nodes for cpu in node}
    packages: dict[int, set[int]] = {}
    for cpu in usable - found.keys():
        package = -1
        with suppress(Unreadable):
            package = read_number(sys / f"{CPU_FOLDER}/cpu{cpu}/topology/physical_package_id")
        packages.setdefault(package, set()).add(cpu)
    return found | {cpu: frozenset(group) for group in packages.values() for cpu in group}


def find_slow(usable: frozenset[int], sys: Path) -> frozenset[int]:
    """Returns the efficiency cores of a hybrid processor."""
    # Intel's have a list of their own; Arm's have a capacity below the largest.
    with suppress(Unreadable, ValueError):
        return parse_cpus(read_text(sys / "devices/cpu_atom/cpus")) & usable
    capacities: dict[int, int] = {}
    for cpu in usable:
        with suppress(Unreadable):
            capacities[cpu] = read_number(sys / f"{CPU_FOLDER}/cpu{cpu}/cpu_capacity")
    most = max(capacities.values(), default=0)
    return frozenset(cpu for cpu, capacity in capacities.items() if capacity < most)


LARGEST = 64 * 2**20
"""Bytes from which a copy's time is proportional to them: no cache holds as many."""

PAGE = 4096
"""Bytes of a page of memory."""

REPEATS = 20
MOST_S = 0.05
"""Copies, of which the fastest counts, and the seconds that they may take, after three."""


def copy_ns(moved_bytes: int) -> float:
    """Returns the nanoseconds that one core takes to move bytes at the rate of a copy, half of them
    read and half written, in the caches that hold as many."""
    # The manager does without, as long as nothing is compared.
    import numpy as np

    size = max(1, min(moved_bytes, LARGEST) // 2)
    # Half a page apart: at 16 bytes from the same place of a page, copies take six times as long on
    # some processors of AMD.
    begin = -(-size // PAGE) * PAGE + PAGE // 2
    both = np.ones(begin + size, "uint8")
    source, target = both[:size], both[begin:]
    fastest, begun = float("inf"), time.perf_counter()
    for number in range(REPEATS):
        if number >= 3 and time.perf_counter() - begun > MOST_S:
            break
        start = time.perf_counter_ns()
        np.copyto(target, source)
        fastest = min(fastest, time.perf_counter_ns() - start)
    return max(1.0, fastest) * moved_bytes / (2 * size)
