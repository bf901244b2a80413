"""The distinct calls of a program, added up while it runs, and the interface of what records them.

A recorder looks its calls up by a key that is quick to make, and describes a call by a case only at
the first of its kind. What is kept does not grow with the number of calls.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from opperf.frameworks.flow import FoundChain
from opperf.frameworks.timing import CompiledRuns
from opperf.model import Argument, CallSite, Case

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
"""Phases of a program."""


class Site(NamedTuple):
    """Where a program makes a call, as `CallSite` has it."""

    module: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    phase: str = FORWARD
    program: str = ""


Range = tuple[int, int]
"""The smallest and the largest of a tensor's integers."""

MOST_TIMES = 256
"""Times that are kept of a call. Of more calls it is every second one, every fourth, and so on."""

MOST_VARIANTS = 32
"""Calls that differ in their numbers alone and are kept apart: an optimizer passes another one in
each step, a loop another index."""

MOST_CALLS = 20_000
"""Distinct calls that are kept; a large model has some hundreds."""


NO_CALLS: tuple[int, int | None] = (0, None)


class RecordedCall:
    """A distinct call: its case, where it was made, and its times in nanoseconds."""

    __slots__ = ("case", "ranges", "further", "count", "sites", "times", "_every")

    def __init__(
        self,
        case: Case,
        ranges: dict[int, Range] | None = None,
        further: dict[str, Argument] | None = None,
    ) -> None:
        self.case = case
        self.further = further or {}
        """Arguments that the operator does not declare, and takes."""
        self.ranges = ranges or {}
        """Of its tensors of integers, by their position among its tensors."""
        self.count = 0
        self.sites: dict[Site, tuple[int, int | None]] = {}
        """The number of calls at each, and the time of those that were timed; None without one."""
        self.times: list[int] = []
        self._every = 1

    def add(self, site: Site, elapsed_ns: int | None = None, number: int = 1) -> None:
        """Adds calls of one site, one of them timed."""
        if elapsed_ns is not None and self.count % self._every == 0:
            self.times.append(elapsed_ns)
            if len(self.times) > MOST_TIMES:
                del self.times[1::2]
                self._every *= 2
        self.count += number
        count, time_ns = self.sites.get(site, NO_CALLS)
        if elapsed_ns is not None:
            time_ns = (time_ns or 0) + elapsed_ns
        self.sites[site] = count + number, time_ns

    def forget(self) -> None:
        """Forgets the calls that were added."""
        self.count, self._every = 0, 1
        self.sites.clear()
        self.times.clear()

    def call_sites(self) -> tuple[CallSite, ...]:
        """Returns the sites, with the time of their calls if these were timed."""
        return tuple(
            CallSite(
                **site._asdict(), count=count, time_ns=None if time_ns is None else float(time_ns)
            )
            for site, (count, time_ns) in self.sites.items()
        )


class Calls:
    """The distinct calls of a program."""

    def __init__(self, timed: bool = False) -> None:
        self.timed = timed
        """Whether each call is timed."""
        self.known: dict[Hashable, RecordedCall] = {}
        """By the recorder's key."""
        self.refused: dict[str, str] = {}
        """Operators whose calls no case can have, each with the reason."""
        self.number = 0
        """Calls of all kinds."""
        self.merged = 0
        """Calls that were added to one with other numbers."""
        self.left_out = 0
        """Calls beyond `MOST_CALLS` distinct ones."""
        self.compiled = CompiledRuns()
        self.chains: list[FoundChain] = []
        """Those of the first recorded step."""
        self._variants: dict[Hashable, list[RecordedCall]] = {}

    def begin(
        self, key: Hashable, without_numbers: Hashable, describe: Callable[[], RecordedCall]
    ) -> RecordedCall | None:
        """Returns the call of a key that is not among the `known` ones, which `describe` makes;
        one that differs in its numbers alone if there are many such; None if there are too many
        calls."""
        variants = self._variants.get(without_numbers)
        if variants is not None and len(variants) >= MOST_VARIANTS:
            self.merged += 1
            return variants[-1]
        if len(self.known) >= MOST_CALLS:
            self.left_out += 1
            return None
        made = self.known[key] = describe()
        self._variants.setdefault(without_numbers, []).append(made)
        return made

    def refuse(self, name: str, reason: str) -> None:
        """Notes that a call, which is among the number, cannot be recorded."""
        self.refused.setdefault(name, reason)

    def forget(self) -> None:
        """Forgets the calls that were made so far; how they are described stays known."""
        self.number = self.merged = self.left_out = 0
        self.chains = []
        self.compiled.forget()
        for call in self.known.values():
            call.forget()

    def recorded(self) -> list[RecordedCall]:
        """Returns the calls, in the order of the first of each."""
        return [call for call in self.known.values() if call.count]


EndStep = Callable[[object], None]
"""Is called when a step of a program has ended, with the object that ended it."""


class Recorder:
    """Records the calls of a framework in this process. It adds to `calls`, and calls `end_step`
    after each step of an optimizer, whether it records or not."""

    def __init__(self, calls: Calls, end_step: EndStep) -> None:
        self.calls, self.end_step = calls, end_step

    def install(self) -> None:
        """Begins to watch for the ends of steps. Raises `UnsupportedError` for a version of the
        framework that cannot be recorded."""

    def begin(self) -> None:
        """Begins to record."""
        raise NotImplementedError

    def end(self) -> None:
        """Ends recording, for now or for good."""
        raise NotImplementedError

    def wait(self) -> None:
        """Waits for the calls that the framework has begun. Default: they have ended."""

    def begin_flow(self) -> None:
        """Begins to keep the flow of tensors, for the chains of calls in a step. Default: none is
        kept."""

    def end_flow(self) -> None:
        """Ends keeping it, and adds the chains to the calls."""

    def remove(self) -> None:
        """Undoes `install`."""

    def notes(self) -> tuple[str, ...]:
        """Returns a sentence each on what a reader of the recording must know."""
        return ()


Line = tuple[CodeType | None, int]
"""The code of a function, and a line of it."""

NOWHERE: Line = (None, 0)


def site_at(module: str, line: Line, phase: str) -> Site:
    """Returns the site of a line."""
    code, number = line
    if code is None:
        return Site(module, phase=phase)
    # With its class from Python 3.11 on.
    function = str(getattr(code, "co_qualname", code.co_name))
    return Site(module, code.co_filename, number, function, phase)


class Frames:
    """Finds the line of a user's program among the frames of Python: the innermost one outside of
    a framework, of opperf and of Python's own library."""

    def __init__(self, *packages: str) -> None:
        """`packages` are the files of the modules whose folders are the framework's."""
        own = Path(__file__).resolve().parents[1]
        self._beginning = f"{own / 'recording'}/"
        folders = [own, *(Path(file).resolve().parent for file in packages)]
        self._folders = (*(f"{folder}/" for folder in folders), "<")
        # What is installed lies in the folder of Python's own library.
        self._library = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))
        self._installed = tuple(f"{sysconfig.get_path(name)}/" for name in ("purelib", "platlib"))
        self._is_hidden: dict[str, bool] = {}
        """By file."""

    def is_hidden(self, file: str) -> bool:
        """Whether a file is not of the user's program."""
        if file.startswith(self._folders) or GENERATED in file:
            return True
        return file.startswith(self._library) and not file.startswith(self._installed)

    def find(
        self, frame: FrameType | None, outer: FrameType | None = None, around: Line = NOWHERE
    ) -> Line:
        """Returns the line of the user's frame, at or around this one. `around` is that of the
        frame `outer`, at which the search ends."""
        hidden = self._is_hidden
        while frame is not None:
            if frame is outer:
                return around
            code = frame.f_code
            file = code.co_filename
            is_hidden = hidden.get(file)
            if is_hidden is None:
                is_hidden = hidden[file] = self.is_hidden(file)
            if not is_hidden:
                return code, frame.f_lineno
            if file.startswith(self._beginning):
                # It is opperf that makes the call, and what has called opperf does not.
                return NOWHERE
            frame = frame.f_back
        return NOWHERE


GENERATED = "/torchinductor_"
"""In the paths of files that a compiler writes."""


def caller(depth: int = 1) -> FrameType:
    """Returns the frame that is this many above the caller's own."""
    return sys._getframe(depth + 1)


class Entered(NamedTuple):
    """A module that is being called."""

    path: str
    frame: FrameType
    """The frame that calls it."""
    line: Line
    """The user's line around that."""
    is_backward: bool
    """Whether the backward pass calls it, to compute its results again."""


class _Entered(threading.local):
    """The modules that a thread is calling."""

    def __init__(self) -> None:
        self.stack: list[Entered] = []
        self.paths: dict[int, str] = {}
        """Of what the outermost one has, by identity."""


class Sites:
    """Knows the module and the line of the call that is being made. A module is what a framework
    has under that name, or under that of a block."""

    def __init__(self, package: str, parts: Callable[[Any], Iterable[tuple[object, str]]]) -> None:
        """`package` is the file of the framework's module; `parts` returns what a module has, it
        and modules in it included, each with its path."""
        self.optimizing = False
        """Whether an optimizer makes its step."""
        self.program = ""
        """Name of the compiled program that runs; empty outside of one."""
        self.frames = Frames(package)
        self._parts = parts
        self._entered = _Entered()
        self._paths: WeakKeyDictionary[Any, dict[int, str]] = WeakKeyDictionary()
        """Of what the outermost modules have, by identity."""
        self._known: dict[tuple[str, int, int, str, str], Site] = {}
        """By module, the identity of the code, line, phase and compiled program. Each is one
        object, as new ones at each call would have Python look for garbage."""
        self._codes: set[CodeType | None] = set()
        """Codes of the known sites, whose identities no other has."""

    def clear(self) -> None:
        """Forgets the modules that are being called."""
        self._entered = _Entered()

    def enter(self, module: Any, frame: FrameType, is_backward: bool = False) -> None:
        """Notes that a module is called by a frame."""
        entered = self._entered
        if entered.stack:
            outer = entered.stack[-1]
            path = entered.paths.get(id(module)) or f"{outer.path}.{type(module).__name__}"
            line = self.frames.find(frame, outer.frame, outer.line)
        else:
            entered.paths = self._paths_in(module)
            path, line = type(module).__name__, self.frames.find(frame)
        entered.stack.append(Entered(path, frame, line, is_backward))

    def leave(self) -> None:
        """Notes that the call of the innermost module ends."""
        # It may have begun before the recording did.
        if self._entered.stack:
            self._entered.stack.pop()

    def _paths_in(self, outermost: Any) -> dict[int, str]:
        paths = self._paths.get(outermost)
        if paths is None:
            parts = self._parts(outermost)
            paths = self._paths[outermost] = {id(part): path for part, path in parts}
        return paths

    def path_of(self, part: object) -> str:
        """Returns the path of the module that has a parameter; empty for an unknown one."""
        found = (paths.get(id(part)) for paths in self._paths.values())
        return next(filter(None, found), "")

    @property
    def innermost(self) -> Entered | None:
        """The module that is being called; None outside of modules."""
        stack = self._entered.stack
        return stack[-1] if stack else None

    def at(self, frame: FrameType, phase: str = FORWARD) -> Site:
        """Returns the site of a call that a frame makes. Outside of modules, in the step of an
        optimizer, its phase is that."""
        inner = self.innermost
        if inner is None:
            return self.of("", self.frames.find(frame), OPTIMIZER if self.optimizing else phase)
        return self.of(inner.path, self.frames.find(frame, inner.frame, inner.line), phase)

    def of(self, module: str, line: Line, phase: str) -> Site:
        """Returns the site of a line."""
        code, number = line
        key = (module, id(code), number, phase, self.program)
        site = self._known.get(key)
        if site is None:
            self._codes.add(code)
            site = self._known[key] = site_at(module, line, phase)._replace(program=self.program)
        return site
