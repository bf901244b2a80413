"""The request of `opperf record`, read once from its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opperf.errors import UsageError
from opperf.model import Settings
from opperf.recording.models import Inputs
from opperf.recording.output import EXTENSION
from opperf.recording.programs import Script
from opperf.recording.steps import StepRange
from opperf.requests.parsers import CALLABLE
from opperf.sources.resolving import OWN_DEFAULT
from opperf.sources.selecting import Selection

OF_CALLABLES: Mapping[str, str] = {
    "shapes": "--shape",
    "values": "--arg",
    "input_function": "--inputs",
    "device": "--ctx",
    "dtype": "--dtype",
    "seed": "--seed",
    "imports": "--import",
    "no_backward": "--no-backward",
    "runs": "--runs",
    "framework": "--framework",
}
"""Options for what is called with inputs, of which a script has none."""

OF_SCRIPTS: Mapping[str, str] = {"steps": "--steps", "is_module": "-m"}
"""Options for a script or module."""


@dataclass(frozen=True)
class Request:
    """The request of `record`."""

    program: Script | Inputs
    output: Path
    overwrite: bool
    timed: bool
    steps: StepRange | None
    trace: Path | None

    @property
    def name(self) -> str:
        """The program's name in messages."""
        program = self.program
        return program.name if isinstance(program, Script) else program.selection.patterns[0]

    @property
    def command(self) -> str:
        """The program, with its arguments."""
        program = self.program
        return program.command if isinstance(program, Script) else self.name

    @property
    def wanted(self) -> StepRange | None:
        """The steps to record; None for all."""
        return self.program.wanted if isinstance(self.program, Inputs) else self.steps


def read_request(options: Mapping[str, Any], explicit: Mapping[str, Any]) -> Request:
    """Returns the request of the command's options, of which the user set those of `explicit`.
    Raises `UsageError` for options that do not go together."""
    if not options["names"]:
        raise UsageError(
            "name a program: opperf record train.py, -m package.module, or model.py:GPT"
        )
    word, *others = options["names"]
    is_called = CALLABLE.fullmatch(word) is not None
    for name, option in (OF_SCRIPTS if is_called else OF_CALLABLES).items():
        if name in explicit:
            what = "calls a function with inputs" if is_called else "runs a program"
            raise UsageError(
                f"{option} has no effect, as `opperf record {word}` {what}; omit it"
                + ("" if is_called else ", or write it behind the program's name")
            )
    if is_called and others:
        raise UsageError(f"{word} takes no arguments such as {others[0]!r}; use --shape and --arg")
    program = (
        _read_inputs(word, options)
        if is_called
        else Script(word, tuple(others), options["is_module"])
    )
    return Request(
        program=program,
        output=options["output_file"] or _default_output(word),
        overwrite=options["overwrite"],
        timed=options["timed"],
        steps=options["steps"],
        trace=options["trace"],
    )


def _default_output(word: str) -> Path:
    """Returns the file of a program's recording if the user names none."""
    file, _, name = word.partition(":")
    stem = Path(file).stem if file.endswith(".py") else file.rpartition(".")[2]
    return Path("_".join(filter(None, (stem, name))) + EXTENSION)


def _read_inputs(word: str, options: Mapping[str, Any]) -> Inputs:
    for name, shape in options["shapes"].items():
        if not all(isinstance(extent, int) for extent in shape):
            raise UsageError(f"--shape {name}: its extents are numbers; a recording has no --sweep")
    chosen = {
        name: options[name]
        for name in ("device", "dtype", "seed", "imports", "input_function")
        if options[name] is not None
    }
    selection = Selection(
        patterns=(word,),
        backward=not options["no_backward"],
        shapes=options["shapes"],
        values=options["values"],
        dtype_given=options["dtype"] is not None,
        settings=Settings(**{**dict.fromkeys(OWN_DEFAULT, ""), **chosen}),
    )
    return Inputs(options["framework"], selection, options["runs"])
