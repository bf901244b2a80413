"""Commands of other programs that are run to their end; and free ports of this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import IO, NamedTuple

from opperf.terminating import ending_with_parent, interrupts_held


class CommandResult(NamedTuple):
    """The end of a command."""

    output: str = ""
    errors: str = ""
    """All that it printed to each, if that was captured."""
    code: int | None = None
    """Exit code; None of one that did not start, or did not end in time."""
    problem: str = ""
    """Words that follow the command's name; empty after exit code 0."""
    started: bool = True


def run_command(
    words: Sequence[str] | str,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    given: str | None = "",
    output: IO[bytes] | int | None = PIPE,
    timeout_s: float | None = None,
) -> CommandResult:
    """Runs a command, or a line of the shell, until its end or that of a time limit, at which it is
    killed with what it has started. It reads a text, or with None what this process
    reads; what it prints is captured, or is written to a file, or with None to the terminal."""
    process = None
    try:
        with interrupts_held():
            process = subprocess.Popen(
                words,
                stdin=None if given is None else PIPE,
                stdout=output,
                stderr=output if output in (PIPE, None) else STDOUT,
                text=True,
                # Of names in other encodings.
                errors="replace",
                env=variables,
                cwd=folder,
                shell=isinstance(words, str),
                preexec_fn=ending_with_parent(),
            )
    except OSError as error:
        return CommandResult(problem=f"cannot be started: {error.strerror}", started=False)
    except KeyboardInterrupt:
        if process is not None:
            _kill_tree(process.pid)
        raise
    with process:
        try:
            printed, errors = process.communicate(given, timeout_s)
        except subprocess.TimeoutExpired:
            _kill_tree(process.pid)
            return CommandResult(problem=f"took over {timeout_s:g} s")
        except BaseException:
            _kill_tree(process.pid)
            raise
    code = process.returncode
    problem = f"ended with {code}" if code else ""
    return CommandResult(printed or "", errors or "", code, problem)


def find_program(text: str) -> str | None:
    """Returns the absolute path of an executable program; None if there is none."""
    found = shutil.which(os.path.expanduser(text))  # noqa: PTH111 - a bare name is searched for
    # Not resolved: a virtual environment's interpreter is a link, and its path identifies it.
    return None if found is None else os.path.abspath(found)  # noqa: PTH100


def _kill_tree(process: int) -> None:
    # Most commands end by themselves.
    import psutil

    with contextlib.suppress(psutil.Error):
        root = psutil.Process(process)
        for each in (*root.children(recursive=True), root):
            with contextlib.suppress(psutil.Error):
                each.kill()


HOST = "127.0.0.1"
"""This machine's own address."""


def free_port(address: str = HOST) -> int:
    """Returns a port of an address of this machine that nothing listens on."""
    with socket.socket() as listening:
        listening.bind((address, 0))
        return int(listening.getsockname()[1])
