"""The command that repeats a record, or measures a case alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from opperf.experiments.records import ModelRecord
from opperf.model import DECLARED, DEFAULTS, Case, Interpreter, ModelTarget, display_argument
from opperf.results.settings import option_words

RUNNER = "python xla/benchmarks/experiment_runner.py"
"""PyTorch/XLA's, from the folder that holds its checkout, as its documentation has it."""

OUTPUT = ("--no-resume", "--output-basename", "repeated.jsonl")
"""The runner omits what its file has, also what failed, and --no-resume deletes the file: thus
another one."""


def command_of(record: ModelRecord) -> str:
    """Returns the command: the record's own, or that of PyTorch/XLA's runner."""
    if record.command is not None:
        return record.command
    options = [
        ("--suite-name", record.suite_name or None),
        ("--filter", f"^{re.escape(record.model_name)}$"),
        ("--accelerator", record.accelerator or None),
        ("--xla", record.xla or "None"),
        ("--dynamo", record.dynamo or "None"),
        ("--torch-xla2", record.torch_xla2),
        ("--test", record.test),
        ("--batch-size", record.batch_size),
        ("--repeat", record.repeat),
        ("--iterations-per-run", record.iterations_per_run),
    ]
    words = [f"{name}={value}" for name, value in options if value is not None]
    flags = record.xla_flags
    if flags:
        words += [f"--xla-flags={flag}" for flag in ([flags] if isinstance(flags, str) else flags)]
    if record.enable_functionalization:
        words.append("--enable-functionalization")
    return f"{RUNNER} {shlex.join([*words, *OUTPUT])}"


PROFILER = "python"
"""The profiler of experiments where none is named: a step is what a user waits for."""

CHOSEN = ("max_time_s", "python", "profiler")
"""Settings that the plan may choose, or whose text is another than the value."""


def command_of_case(
    case: Case, interpreters: Iterable[Interpreter] = (), words: Sequence[str] = ()
) -> str:
    """Returns the command that measures a case alone. `words` are those of a run's command, for a
    case that has no name of its own."""
    target, settings = case.target, case.settings
    named = word_of(target) if isinstance(target, ModelTarget) else case.pattern
    found = ["opperf", "experiment", *([named] if named else words)]
    found += ["--framework", target.framework]
    if isinstance(target, ModelTarget):
        if target.size != "default":
            found += ["--size", target.size]
        if target.batch_size is not None:
            found += ["--batch-size", str(target.batch_size)]
        if target.folder:
            found += [f"--{target.suite}", target.folder]
    changed = {
        name: value
        for name in DECLARED
        if name not in CHOSEN and (value := getattr(settings, name)) != DEFAULTS[name]
    }
    found += option_words(changed)
    if settings.profiler != PROFILER:
        found += [DECLARED["profiler"].option, settings.profiler]
    for interpreter in interpreters:
        if interpreter.label == settings.python and interpreter.framework in ("", target.framework):
            found += interpreter.words
    return shlex.join([*found, "--id", case.id])


def word_of(target: ModelTarget) -> str:
    """Returns the word that names a model in a command."""
    if target.suite:
        return f"{target.suite}:{target.name}"
    place = f"{target.file}:{target.name}" if target.file else target.name
    shown = {name: display_argument(value) for name, value in target.arguments.items()}
    given = [f"{v!r}" if name.isdecimal() else f"{name}={v!r}" for name, v in shown.items()]
    return f"{place}({', '.join(given)})" if given else place
