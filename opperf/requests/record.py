"""Records the calls of operators that a program makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opperf.errors import INTERRUPTED, OpperfError, UsageError, one_line
from opperf.frameworks.mentioned import choose_framework
from opperf.model import Settings
from opperf.recording.steps import StepRange, read_steps
from opperf.requests.declaring import Option, Request, Say, argument, declared
from opperf.requests.operators import Framework, NoBackward, Shapes, Values
from opperf.requests.outputs import file_option
from opperf.requests.parsers import CALLABLE
from opperf.requests.settings import SettingFields

if TYPE_CHECKING:
    from opperf.recording.programs import Inputs, Outcome, Script
    from opperf.recording.session import Session

SETTINGS = ("input_function", "imports", "device", "dtype", "seed")

OF_CALLABLES = ("shapes", "values", *SETTINGS, "no_backward", "runs", "framework")
"""Fields of what is called with inputs, of which a script has none."""

OF_SCRIPTS = ("steps", "is_module")
"""Fields of a script or module."""


class RecordRequest(Request, frozen=True, kw_only=True):
    """Records the calls of operators that a script, a module or a callable makes."""

    names: Annotated[tuple[str, ...], argument("PROGRAM [ARGS]...")] = ()
    is_module: Annotated[
        bool, Option("PROGRAM is a module, as that of `python -m`.", spellings="-m")
    ] = False
    output_file: Annotated[
        Path | None, file_option("The recording, a run file.  [default: ./PROGRAM.jsonl]")
    ] = None
    overwrite: Annotated[bool, Option("Replace the recording if it exists.", section="Output")] = (
        False
    )
    timed: Annotated[bool, Option("Keep the time of each call, for which a GPU is waited for.")] = (
        False
    )
    steps: Annotated[
        StepRange | None,
        Option(
            "Record the steps A to B-1, counted from 0; the others are timed without a recorder. A "
            "step ends with the step of the program's first optimizer, or where it calls "
            "opperf.step().  [default: the whole program]",
            read_steps,
            metavar="A:B",
            section="Replay",
        ),
    ] = None
    trace: Annotated[
        Path | None,
        Option("Write PyTorch's execution trace of what is recorded as well.", spellings="--et"),
    ] = None
    shapes: Shapes = {}
    values: Values = {}
    settings: Annotated[Settings, SettingFields(SETTINGS)] = Settings()
    no_backward: NoBackward = False
    runs: Annotated[
        int,
        Option(
            "Calls of a function or model that are recorded, after as many that are only timed.",
            low=1,
            section="Time and precision",
            spellings="-r --runs",
        ),
    ] = 3
    framework: Framework = ""

    def run(self, say: Say) -> int:
        """Runs the program, writes the recording and says what is in it; the program's exit
        code."""
        from opperf.recording.programs import Inputs

        program = self._program()
        if isinstance(program, Inputs):
            session = self.session(program.selection.patterns[0], program.wanted)
            outcome = _call(program, session)
        else:
            session = self.session(program.command, self.steps)
            outcome = self._run(program, session, say)
        if not session.is_of_this_process:
            # A child that the program forked has come to the end of it.
            return outcome.code
        return self._finish(session, outcome, say)

    @property
    def output(self) -> Path:
        """The file of the recording, after the program if none is named."""
        if self.output_file is not None:
            return self.output_file
        from opperf.recording.session import EXTENSION

        file, _, name = self.names[0].partition(":")
        stem = Path(file).stem if file.endswith(".py") else file.rpartition(".")[2]
        return Path("_".join(filter(None, (stem, name))) + EXTENSION)

    def session(self, command: str, wanted: StepRange | None) -> Session:
        """Returns a session of a command; None for all of its steps. Raises `OpperfError` for files
        that exist or cannot be written."""
        from opperf.recording.session import Session, check_files

        check_files(self.output, self.trace, self.overwrite)
        # The program may go to another folder before it is written.
        trace = None if self.trace is None else self.trace.absolute()
        return Session(command, self.timed, wanted, trace)

    def _program(self) -> Script | Inputs:
        from opperf.recording.programs import Script

        if not self.names:
            raise UsageError(
                "name a program: opperf record train.py, -m package.module, or model.py:GPT"
            )
        word, *others = self.names
        is_called = CALLABLE.fullmatch(word) is not None
        for name in OF_SCRIPTS if is_called else OF_CALLABLES:
            if name in self.given:
                what = "calls a function with inputs" if is_called else "runs a program"
                raise UsageError(
                    f"{declared(RecordRequest)[name].shown} has no effect, as `opperf record "
                    f"{word}` {what}; omit it"
                    + ("" if is_called else ", or write it behind the program's name")
                )
        if not is_called:
            return Script(word, tuple(others), self.is_module)
        if others:
            raise UsageError(
                f"{word} takes no arguments such as {others[0]!r}; use --shape and --arg"
            )
        return self._inputs(word)

    def _inputs(self, word: str) -> Inputs:
        from opperf.recording.programs import Inputs
        from opperf.requests.selecting import split_shapes
        from opperf.sources.resolving import OWN_DEFAULT
        from opperf.sources.selecting import Selection

        shapes, swept = split_shapes(self.shapes)
        for name in swept:
            raise UsageError(f"--shape {name}: its extents are numbers; a recording has no --sweep")
        given = {name: getattr(self.settings, name) for name in SETTINGS if name in self.given}
        selection = Selection(
            patterns=(word,),
            backward=not self.no_backward,
            shapes=shapes,
            values=self.values,
            dtype_given="dtype" in given,
            settings=Settings(**{**dict.fromkeys(OWN_DEFAULT, ""), **given}),
        )
        choice = choose_framework(self.framework, (word,), self.settings)
        return Inputs(choice.name, selection, self.runs)

    def _run(self, script: Script, session: Session, say: Say) -> Outcome:
        from opperf.recording.programs import Outcome

        script.check()
        folder = Path.cwd()

        def at_exit() -> None:
            if session.is_of_this_process:
                os.chdir(folder)
                self._finish(session, Outcome(0, "ended by os._exit"), say)

        session.start()
        try:
            return script.run(at_exit)
        finally:
            session.stop()

    def _finish(self, session: Session, outcome: Outcome, say: Say) -> int:
        from opperf.recording.session import written

        session.stop()
        if outcome.why:
            session.note(f"the program {outcome.why}; the recording has the calls until then")
        if not session.calls:
            if outcome.why:
                say(f"opperf: {self.names[0]} {outcome.why}, before a call that could be recorded")
                return outcome.code or NOTHING
            raise UsageError(f"{self.names[0]}: {session.nothing()}")
        for line in written(session, self.output, self.overwrite):
            say(line)
        return outcome.code

    @contextmanager
    def recorded(self, command: str) -> Iterator[None]:
        """Records what is called inside of it, and writes that as the recording of a command; after
        an error, too. Raises `OpperfError` as `run` does."""
        from opperf.recording.session import written

        session, file = self.session(command, self.steps), self.output.absolute()
        session.start()
        try:
            yield
        except BaseException as error:
            session.stop()
            kind = type(error).__name__
            session.note(f"{kind} was raised; the recording has the calls until then")
            if session.is_of_this_process and session.calls:
                written(session, file, self.overwrite)
            raise
        session.stop()
        if not session.is_of_this_process:
            return
        if not session.calls:
            raise UsageError(f"{file}: {session.nothing()}")
        written(session, file, self.overwrite)


def _call(inputs: Inputs, session: Session) -> Outcome:
    from opperf.recording.programs import FAILED, Outcome, call, cases_of

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


NOTHING = UsageError.exit_code
"""Exit code if there is nothing to record, of a program whose own is 0."""
