"""The command `record`, from its request to the exit code."""

from __future__ import annotations

import os
from pathlib import Path

from opperf.commands.record.request import Request
from opperf.errors import INTERRUPTED, OpperfError, UsageError, one_line
from opperf.recording.models import Inputs, call, cases_of
from opperf.recording.output import check_files, written
from opperf.recording.programs import FAILED, Outcome
from opperf.recording.session import Session
from opperf.results.messages import tell


def record_command(request: Request) -> int:
    """Records the program, and returns its exit code.

    Raises `OpperfError` before it begins, if it cannot be recorded or the recording not be written,
    and after it, if there was nothing to record.
    """
    check_files(request.output, request.trace, request.overwrite)
    # The program may go to another folder before it is written.
    trace = None if request.trace is None else request.trace.absolute()
    session = Session(request.command, request.timed, request.wanted, trace)
    outcome = (
        _call(request.program, session)
        if isinstance(request.program, Inputs)
        else _run(request, session)
    )
    if not session.is_of_this_process:
        # A child that the program forked has come to the end of it.
        return outcome.code
    return _finish(request, session, outcome)


def _run(request: Request, session: Session) -> Outcome:
    """Runs a script, and returns how it ended."""
    script = request.program
    assert not isinstance(script, Inputs)
    script.check()
    folder = Path.cwd()

    def at_exit() -> None:
        if session.is_of_this_process:
            os.chdir(folder)
            _finish(request, session, Outcome(0, "ended by os._exit"))

    session.start()
    try:
        return script.run(at_exit)
    finally:
        session.stop()


def _call(inputs: Inputs, session: Session) -> Outcome:
    """Calls a function or model, and returns how that ended."""
    framework, cases = cases_of(inputs)
    session.start([inputs.framework])
    try:
        call(framework, cases, session, inputs.wanted.end or 0)
    except KeyboardInterrupt:
        return Outcome(INTERRUPTED, "was interrupted")
    except OpperfError:
        raise
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return Outcome(FAILED, f"failed: {one_line(reason)}")
    finally:
        session.stop()
    return Outcome(0)


def _finish(request: Request, session: Session, outcome: Outcome) -> int:
    """Writes the recording, says what is in it, and returns the exit code. Raises `UsageError` if
    there is nothing in it."""
    session.stop()
    if outcome.why:
        session.note(f"the program {outcome.why}; the recording has the calls until then")
    if not session.recorded().number:
        if outcome.why:
            tell(f"opperf: {request.name} {outcome.why}, before a call that could be recorded")
            return outcome.code or NOTHING
        raise UsageError(f"{request.name}: {session.nothing()}")
    for line in written(session, request.output, request.overwrite):
        tell(line)
    return outcome.code


NOTHING = UsageError.exit_code
"""Exit code if there is nothing to record, of a program whose own is 0."""
