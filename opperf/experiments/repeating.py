"""The command that repeats a record."""

from __future__ import annotations

import re
import shlex

from opperf.experiments.records import ModelRecord

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
