"""Measures a program: runs its processes side by side until they have made the observations that
are wanted, without changing them."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from opperf.errors import OpperfError, UnsupportedError
from opperf.machine.kernel import usable_cpus
from opperf.model import Case, Record, ScriptTarget, Status
from opperf.programs.group import Group, Progress
from opperf.programs.launching import ALONE, Place, plan_processes, plan_server
from opperf.programs.observing import parse_parts
from opperf.programs.records import make_record, without_observations


class Programs:
    """Measures programs, one at a time. `kill` ends what runs, from any thread."""

    def __init__(self) -> None:
        self._running: Group | None = None
        self._killed = False

    @property
    def progress(self) -> Progress:
        """How far the program that runs is; any thread may ask, and call the methods below."""
        running = self._running
        return Progress.BUSY if running is None else running.progress

    def expect_end(self) -> None:
        """Lets the processes of the program end in whatever way: those of other nodes are about to
        be stopped."""
        if self._running is not None:
            self._running.expect_end()

    def release(self) -> None:
        """Stops a program that is held."""
        if self._running is not None:
            self._running.release()

    def end(self, reason: str) -> None:
        """Ends the program that runs, as another node's part of it has failed."""
        if self._running is not None:
            self._running.end(reason)

    def kill(self) -> None:
        """Ends the program that runs, and lets no other one start."""
        self._killed = True
        running = self._running
        if running is not None:
            running.kill()

    def measure(
        self,
        case: Case,
        streams: Path | None = None,
        python: str = "",
        cpus: frozenset[int] = frozenset(),
        place: Place = ALONE,
    ) -> Record:
        """Returns the record of a case whose target is a `ScriptTarget`; whatever its program does
        is its status. `streams` is the folder of the streams, `python` the interpreter, opperf's
        own if it is empty, and `cpus` are the cores of the program, all usable ones if there are
        none. `place` is that of this node among several."""
        begun = time.monotonic()
        target = case.target
        assert isinstance(target, ScriptTarget)
        try:
            parts = parse_parts(target.observe)
            server = plan_server(target, case.settings, place, python)
            plans = plan_processes(target, case.settings, place, cpus or usable_cpus(), server)
            if not Path(target.script).is_file():
                raise OpperfError(f"{target.script}: no such script")
            with Group(case, parts, plans, streams, python, place.held, server) as group:
                self._running = group
                if self._killed:
                    group.kill()
                group.run()
            record = make_record(case, group.processes, group.culprit, group.sampler)
        except UnsupportedError as error:
            record = without_observations(case, Status.SKIPPED, str(error))
        except OpperfError as error:
            record = without_observations(case, Status.FAILED, str(error))
        finally:
            self._running = None
        return msgspec.structs.replace(record, wall_s=time.monotonic() - begun)
