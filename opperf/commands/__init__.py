"""The commands of the command line: their arguments, options and help.

The code of a command is in the package it belongs to and is imported when the command runs, so that
`opperf --help` loads none of it."""

from __future__ import annotations

import click

from opperf.commands.ab import ab
from opperf.commands.compare import compare
from opperf.commands.doctor import doctor
from opperf.commands.explain import explain
from opperf.commands.export import export
from opperf.commands.frameworks import frameworks
from opperf.commands.param import param
from opperf.commands.plot import plot
from opperf.commands.registry import coverage, list_operators, show
from opperf.commands.report import report
from opperf.commands.run import run
from opperf.commands.runs import runs

COMMANDS: tuple[click.Command, ...] = (
    run,
    param,
    list_operators,
    show,
    coverage,
    runs,
    report,
    compare,
    explain,
    ab,
    plot,
    export,
    doctor,
    frameworks,
)
"""In the order of the help."""
