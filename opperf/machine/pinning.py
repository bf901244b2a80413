"""The cores that workers are pinned to, and that the manager keeps off. A core is one hardware
thread. A pinned worker does not move between cores, nor do its threads wait for the manager's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.machine import core_use
from opperf.machine.core_use import NOTHING_ELSE, Claims, Held, Use
from opperf.machine.health.processor import count_threads
from opperf.machine.kernel import SYSFS, THREAD_VARIABLES, format_cpus, usable_cpus
from opperf.machine.topology import find_slow, group_by_node, siblings
from opperf.model import Settings
from opperf.plurals import pluralize

AUTO, NONE = "auto", "none"
"""Words in place of a list of cores: as many as a worker has threads; workers are not pinned."""

TASKS = Path("/proc/self/task")


class Cpus(NamedTuple):
    """The cores of a worker."""

    pinned: frozenset[int] = frozenset()
    """Those that it is pinned to; empty if it is not pinned."""
    usable: frozenset[int] = frozenset()


NOT_PINNED = Cpus()


def parse_list(text: str, usable: frozenset[int]) -> frozenset[int]:
    """Returns the cores of a list such as `0-3,8`. Raises `UsageError`, with the usable cores, for
    another text and for cores that are not usable."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+)(?:-([0-9]+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if first > last:
            raise UsageError(
                f"--cpus {text!r} is not auto, none or a list of cores such as 0-3,8; "
                f"usable: {format_cpus(usable)}"
            )
        # Not a set of the range, which may be longer than memory.
        missing = next((cpu for cpu in range(first, last + 1) if cpu not in usable), None)
        if missing is not None:
            raise UsageError(
                f"--cpus {text}: this process may not use core {missing}; "
                f"usable: {format_cpus(usable)}"
            )
        found.update(range(first, last + 1))
    return frozenset(found)


def cpus_arguments(choice: str) -> tuple[str, ...]:
    """Returns the words of a command line that make this choice of cores."""
    return () if choice.lower() == AUTO else ("--cpus", choice)


def thread_count(settings: Settings, variables: Mapping[str, str]) -> int | None:
    """Returns the number of compute threads of a worker with these settings of its process, and
    inherited environment variables; None for as many as there are cores."""
    if settings.threads is not None:
        return settings.threads
    merged = {**variables, **settings.env}
    counts = [count_threads(merged.get(name, "")) for name in THREAD_VARIABLES]
    return max(counts) or None


def choose_cpus(
    count: int, usable: frozenset[int], sys: Path = SYSFS, use: Use = NOTHING_ELSE
) -> frozenset[int]:
    """Returns cores for a worker of `count` threads: those that no other run of opperf uses, nor
    their other hardware threads, those of the lowest load; one hardware thread per physical core
    before any second one, performance cores before efficiency cores, of one memory node if that has
    enough, and from the highest number down."""
    beside = {cpu: siblings(cpu, sys) & usable for cpu in usable}
    first = {cpu for cpu in usable if cpu == min(beside[cpu])}
    nodes, slow = group_by_node(usable, sys), find_slow(usable, sys)
    users = {cpu: (use.users([cpu]), use.users(beside[cpu])) for cpu in usable}
    free = {cpu for cpu in first if users[cpu] == (0, 0) and not use.level(cpu)}

    def order(cpu: int) -> tuple[object, ...]:
        node = nodes[cpu]
        is_too_small = len(node & free - slow) < count
        # The kernel handles most interrupts on core 0, so the last cores are the quietest.
        place = cpu not in first, cpu in slow, is_too_small, -max(node), -cpu
        return *users[cpu], use.level(cpu), *place

    return frozenset(sorted(usable, key=order)[:count])


def manager_cpus(
    pinned: frozenset[int], usable: frozenset[int], sys: Path = SYSFS
) -> frozenset[int]:
    """Returns the usable cores beside a worker's, without hardware threads of its physical cores if
    there are others; empty if no core is left."""
    others = usable - pinned
    shared = frozenset[int]().union(*(siblings(cpu, sys) for cpu in pinned))
    return others - shared or others


def _find_obstacle() -> str:
    """Returns why this system cannot pin processes; empty if it can."""
    if not hasattr(os, "sched_setaffinity"):
        return "this system cannot pin processes"
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except OSError as error:
        return f"this process may not set its cores ({error.strerror})"
    return ""


def _threads(tasks: Path) -> list[int]:
    return [int(path.name) for path in tasks.iterdir()]


def _read_affinities() -> dict[int, set[int]]:
    """Returns the cores of each thread, or of the calling one, 0, if none are listed."""
    try:
        threads = _threads(TASKS)
    except OSError:
        threads = [0]
    found = {}
    for thread in threads:
        # It may have ended.
        with suppress(ProcessLookupError):
            found[thread] = os.sched_getaffinity(thread)
    return found


def _set_affinities(threads: Mapping[int, Iterable[int]]) -> None:
    for thread, cpus in threads.items():
        # A thread may have ended, and a control group may have lost a core: neither stops a run.
        with suppress(OSError):
            os.sched_setaffinity(thread, cpus)


def move_process(pid: int, cpus: frozenset[int]) -> None:
    """Pins all threads of another process to these cores; none for no change."""
    if cpus:
        with suppress(OSError):
            _set_affinities(dict.fromkeys(_threads(Path(f"/proc/{pid}/task")), cpus))


class Pinning(AbstractContextManager["Pinning"]):
    """Chooses the cores of workers as `--cpus` says, claims them, and keeps this process off them;
    at the end, its threads have the cores that they had. Raises `UsageError` for a wrong `choice`:
    `auto`, `none` or a list of cores."""

    def __init__(self, choice: str = AUTO, sys: Path = SYSFS) -> None:
        self._sys, self.usable = sys, usable_cpus()
        self.choice = choice.lower()
        self._is_wanted, self._keeps_off = self.choice != NONE, True
        self._fixed = frozenset[int]()
        if self.choice not in (AUTO, NONE):
            self._fixed = parse_list(choice, self.usable)
        self._own: tuple[int, ...] = ()
        """Cores beside other workers', the first ones first; empty for a single worker."""
        self._obstacle = _find_obstacle() if self._is_wanted else ""
        self._chosen: dict[int, Cpus] = {}
        self._claims = Claims()
        self._others: set[Held] = set()
        self._before: dict[int, set[int]] = {}
        """Cores of this process's threads before they were moved; empty if they were not."""

    def __exit__(self, *error: object) -> None:
        if self._before:
            # Threads started since then have inherited their creator's cores.
            _set_affinities(
                {thread: self._before.get(thread, self.usable) for thread in _read_affinities()}
            )
        self._before = {}
        self._claims.release()

    def core_count(self, settings: Settings, variables: Mapping[str, str]) -> int:
        """Returns the number of cores of a worker with these settings and inherited variables."""
        count = thread_count(settings, variables)
        return len(self.usable) if count is None else min(count, len(self.usable))

    def choose(self, count: int) -> Cpus:
        if not self._is_wanted or self._obstacle:
            return NOT_PINNED
        if count not in self._chosen:
            own = frozenset(self._own[:count])
            self._chosen[count] = Cpus(own or self._claim(count), self.usable)
        return self._chosen[count]

    def _claim(self, count: int) -> frozenset[int]:
        """Returns the cores of a worker, which no other run chooses if it has others."""
        if not self._fixed and count >= len(self.usable):
            # It has all, and may only plan: `describe` claims them.
            return self.usable
        load = {} if self._fixed else core_use.watch_cores()
        with self._claims.choosing():
            use = Use(tuple(self._claims.others()), load)
            cpus = self._fixed or choose_cpus(count, self.usable, self._sys, use)
            self._claims.add(cpus)
        self._others.update(use.claims)
        return cpus

    @property
    def available(self) -> frozenset[int]:
        return self._fixed or self.usable

    def split(self, number: int) -> list[Pinning]:
        """Returns the choices of so many workers side by side, each of which runs one thread at a
        time, as Valgrind does: a worker has a core for each thread, the first one its own. This
        process is not kept off them."""
        found = []
        first = sorted(self._claim(min(number, len(self.available))), reverse=True)
        cores = [*first, *sorted(self.available.difference(first), reverse=True)]
        for place in range(number):
            one = Pinning(self.choice)
            one._keeps_off = False
            one._own = (*cores[place:], *cores[:place])
            found.append(one)
        return found

    def reserve(self, number: int) -> Pinning:
        """Claims cores, and returns the choice of workers that have no others."""
        one = Pinning(self.choice, self._sys)
        one._keeps_off = False
        if self._is_wanted and not self._obstacle and number < len(self.available):
            one.usable = self._claim(number) if not self._fixed else self._fixed
        return one

    def keep_off(self, cpus: Cpus) -> None:
        """Moves this process off a worker's cores if others are left, and else lets it use all."""
        if not cpus.pinned or not self._keeps_off:
            return
        threads = _read_affinities()
        self._before = self._before or threads
        _set_affinities(dict.fromkeys(threads, self._manager_cpus(cpus.pinned) or self.usable))

    def _manager_cpus(self, cpus: frozenset[int]) -> frozenset[int]:
        """Returns the cores of this process: none of other runs if it has the choice."""
        used = frozenset[int]().union(*(held.cpus for held in self._others))
        unused = manager_cpus(cpus | used, self.usable, self._sys)
        return unused or manager_cpus(cpus, self.usable, self._sys)

    def describe(self, counts: Iterable[int]) -> str:
        """Claims the cores of workers that need these numbers of cores. Returns them, those of this
        process, and other runs that use them, in a sentence; empty if workers are not pinned."""
        if self._obstacle:
            return f"workers are not pinned: {self._obstacle}"
        found = {self.choose(count).pinned for count in counts} - {frozenset()}
        if not found:
            return ""
        if self.usable in found:
            with self._claims.choosing():
                self._others.update(self._claims.others())
                self._claims.add(self.usable)
        ordered = sorted(found, key=len)
        workers = " or ".join(self._name(cpus) for cpus in ordered)
        others = {self._manager_cpus(cpus) for cpus in ordered}
        if len(others) > 1:
            place = f"workers on {workers}, this process on others where any are left"
        elif any(others):
            place = f"workers on {workers}, this process on {self._name(*others)}"
        else:
            place = f"workers on {workers}, shared with this process"
        return "; ".join(filter(None, [place, self._describe_others(frozenset().union(*found))]))

    def _describe_others(self, cpus: frozenset[int]) -> str:
        beside = [held for held in self._others if held.cpus & cpus]
        if not beside:
            return ""
        shared = cpus.intersection(*[frozenset().union(*(held.cpus for held in beside))])
        verb = "is" if len(shared) == 1 else "are"
        runs = pluralize(len(beside), "other run")
        noun = "process" if len(beside) == 1 else "processes"
        processes = f"{noun} {', '.join(map(str, sorted(held.process for held in beside)))}"
        return (
            f"{self._name(shared)} {verb} also used by {runs} of opperf ({processes}): "
            "times may be longer than alone"
        )

    def _name(self, cpus: frozenset[int]) -> str:
        if len(cpus) == 1:
            return f"core {min(cpus)}"
        return f"all {len(cpus)} cores" if cpus == self.usable else f"cores {format_cpus(cpus)}"
