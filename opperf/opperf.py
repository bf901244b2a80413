"""The command line."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if __name__ == "__main__" and not __package__:
    # Run as `python opperf/opperf.py`, Python puts this folder first on the path, where the
    # name `opperf` is this file and not the package it lies in.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import click

import opperf
from opperf.commands import COMMANDS
from opperf.commands.group import Context
from opperf.declared import declared, load_declared
from opperf.errors import (
    INTERRUPTED,
    TERMINATED,
    InternalError,
    OpperfError,
    UnknownOperatorError,
    UsageError,
    one_line,
    suggest,
    unknown,
)
from opperf.extras import missing_extra
from opperf.reading import is_writable
from opperf.results.messages import discard_output, tell
from opperf.results.output import ADVICE, unwritable
from opperf.terminating import interrupted_by_termination

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def load_command(name: str) -> click.Command:
    """Returns the command of a name, of another package's too. Raises `UsageError` if it cannot be
    loaded."""
    if name not in COMMANDS:
        return cast(click.Command, load_declared(added_commands()[name]))
    module, _, function = COMMANDS[name][0].partition(":")
    found = getattr(importlib.import_module(f"opperf.commands.{module}"), function)
    return cast(click.Command, found)


def added_commands() -> dict[str, EntryPoint]:
    """Returns the commands of other packages, by name; none takes that of one of opperf's."""
    added = {entry.name: entry for entry in declared("opperf.commands")}
    return {name: entry for name, entry in added.items() if name not in COMMANDS}


def is_command(name: str) -> bool:
    """Whether there is a command of this name."""
    return name in COMMANDS or name in added_commands()


class ReaderGone(Exception):
    """Whoever read the output reads no more, as `head` after its lines."""


READER_GONE = 141
"""Exit code of that: 128 plus the number of SIGPIPE, as shells have it."""


class DefaultToRun(click.Group):
    """A group of commands whose default is `run`."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *added_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name) if is_command(cmd_name) else None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Click would end the process with 1, which says that something was found.
            raise ReaderGone from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])
        added = {name: load_command(name).get_short_help_str() for name in added_commands()}
        if added:
            with formatter.section("Commands of other packages"):
                formatter.write_dl(list(added.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == [HELP]:
            for name in args[1:2]:
                if not name.startswith("-") and not is_command(name):
                    raise unknown("command", name, COMMANDS, "opperf")
            args = [*args[1:], "--help"]
        own = {"--help", "-h", "--version"}
        if not args or (args[0] not in own and not is_command(args[0])):
            args = ["run", *args]
        return super().parse_args(ctx, args)


HELP = "help"
"""A word that other command lines have; no framework has an operator of this name."""


HELP_WIDTH = 110
"""Most columns of a help: longer lines are hard to read."""


@click.group(
    cls=DefaultToRun,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
    epilog="The default command is `run`: `opperf relu` is `opperf run relu`. `opperf help "
    "COMMAND` is `opperf COMMAND --help`.",
)
@click.version_option(opperf.__version__, prog_name="opperf")
def cli() -> None:
    """Benchmark the operators of a machine-learning framework."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    with interrupted_by_termination() as received:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    sys.exit(TERMINATED if received else code)


def _run(words: list[str]) -> int:
    try:
        check_words(words)
        code: int = cli.main(args=words, prog_name="opperf", standalone_mode=False)
        # An error of the last write would otherwise be raised at exit, where nobody catches it.
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except click.NoSuchOption as error:
        command = _suggest_command_of(words, error.option_name)
        code = fail(_unknown_option(error), command, "" if command else _no_command(words, ""))
    except click.ClickException as error:
        code = fail(UsageError(error.format_message()))
    except (ReaderGone, BrokenPipeError):
        discard_output()
        code = READER_GONE
    except Exception as error:
        if "--debug" in words:
            traceback.print_exc()
        code = _fail_at_words(words, error)
        discard_output()
    return code


OWN_VARIABLES = "OPPERF_"
"""Beginning of the names of opperf's own environment variables."""


def check_words(words: list[str]) -> None:
    """Raises `UsageError` for a word, or the value of an environment variable of opperf's, that is
    no UTF-8: no file of results has its bytes, and Python has them as halves of characters."""
    for name, value in os.environ.items():
        if name.startswith(OWN_VARIABLES) and not is_writable(value):
            raise UsageError(f"the environment variable {name} is no text in UTF-8; set another")
    for word in words:
        if not is_writable(word):
            raise UsageError(
                f"{word.encode(errors='backslashreplace').decode()}: this word is no text in "
                "UTF-8; if it is a file's name, rename it"
            )


def _fail_at_words(words: list[str], error: Exception) -> int:
    """Prints an error with what unknown words may mean, and returns its exit code."""
    # Imported for an error only.
    from opperf.commands.unknown_names import explain_operator, misspelt_command

    shown = _as_opperf_error(error)
    may_be_command = _may_be_command(words, error)
    command = misspelt_command(words[0], COMMANDS) if may_be_command else ""
    if isinstance(error, UnknownOperatorError) or UNKNOWN in str(error):
        shown = UnknownOperatorError(explain_operator(words, str(error)))
    is_other = command or not may_be_command
    return fail(shown, command, "" if is_other else _no_command(words, str(error)))


UNKNOWN = "no operator is called"
"""Of the message about an unknown operator, which an arm of `ab` has as a usage error."""


def _may_be_command(words: list[str], error: Exception) -> bool:
    """Whether the first word may be meant as a command: `run` failed with it as an operator, or
    with one of the others as a file."""
    misspelt, *others = words or [""]
    if is_command(misspelt):
        return False
    is_operator = isinstance(error, UnknownOperatorError) and repr(misspelt) in str(error)
    files = tuple(word for word in others if not word.startswith("-"))
    return is_operator or str(error).startswith(files)


def _no_command(words: list[str], message: str) -> str:
    """Returns that the first word is no command, if it looks like one; `message` is that of
    `run`."""
    from opperf.commands.unknown_names import is_meant_as_command

    if not words or not is_meant_as_command(words[0], COMMANDS, message):
        return ""
    return f"there is no command {words[0]!r}"


def _suggest_command_of(words: list[str], option: str) -> str:
    # Imported for an error only.
    from opperf.commands.unknown_names import misspelt_command

    is_misspelt = bool(words) and not is_command(words[0])
    return misspelt_command(words[0], _commands_with(option)) if is_misspelt else ""


def _commands_with(option: str) -> list[str]:
    return [name for name in COMMANDS if option in _options_of(load_command(name))]


def _options_of(command: click.Command) -> list[str]:
    return [
        name
        for param in command.params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    ]


def _unknown_option(error: click.NoSuchOption) -> UsageError:
    option = error.option_name
    command = error.ctx.command if error.ctx is not None else cli
    having = _commands_with(option)
    elsewhere = f", which {', '.join(having)} {'has' if len(having) == 1 else 'have'}"
    # A long option does not misspell a letter.
    like = [name for name in _options_of(command) if name[:2] == "--" or option[:2] != "--"]
    advice = suggest(option, like) or f"; opperf {command.name} --help lists all"
    return UsageError(f"{command.name} has no option {option}{elsewhere if having else ''}{advice}")


def _as_opperf_error(error: Exception) -> OpperfError:
    if isinstance(error, OpperfError):
        return error
    missing = missing_extra(error) if isinstance(error, ImportError) else None
    if missing is not None:
        return missing
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_folder():
        return UsageError("the working directory was deleted; change to one that exists")
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # Any word may be a file's name, and any text of a file: no reader of them can do better.
        return UsageError(f"{one_line(str(error.filename), 60)}: {error.strerror}; name a file")
    unwritten = {*ADVICE, errno.EBADF}
    if isinstance(error, OSError) and error.errno in unwritten and error.filename is None:
        # Files that opperf writes raise errors with their names.
        return unwritable(Path("standard output"), error)
    return InternalError(
        f"internal error, please report it: {type(error).__name__}: {error}; --debug shows the "
        "traceback"
    )


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def fail(error: OpperfError, command: str = "", first: str = "") -> int:
    """Prints an error on one line, after `first`, with a suggested command; its exit code."""
    line = " ".join(str(error).split())
    if first:
        line = f"{first} (`opperf --help` lists them), and run, the default, fails: {line}"
    if command:
        line = f"{line[:-1]}, or" if line.endswith("?") else f"{line}; did you mean"
        line += f" the command {command}?"
    tell(f"opperf: {line}")
    return error.exit_code


if __name__ == "__main__":
    main()
