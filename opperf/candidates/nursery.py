"""The program that imports a framework once, and forks, for each candidate, a process that has run
nothing yet, in namespaces of its own."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import traceback

import msgspec

from opperf import frameworks
from opperf.candidates import sandbox
from opperf.candidates.host import serve
from opperf.frameworks import Framework
from opperf.model import Struct
from opperf.terminating import end_with_parent, prctl

PR_SET_CHILD_SUBREAPER = 36
"""Of linux/prctl.h."""


class Spawn(Struct, frozen=True):
    """Has a process forked, which gets a socket, a memory of this size and a pipe for its end."""

    root: str
    folders: tuple[str, ...]
    limits: sandbox.Limits
    bytes: int


class Spawned(Struct, frozen=True):
    """The first process of the candidate's namespaces."""

    pid: int = 0
    """Its id, as the judge sees it; 0 if it could not be started."""


def main(name: str, control: socket.socket) -> None:
    """Imports the framework, and forks a process for each request."""
    end_with_parent()
    framework = frameworks.load(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.sendall(b"ready")
    decode = msgspec.json.Decoder(Spawn).decode
    while True:
        document, files, _, _ = socket.recv_fds(control, 1 << 16, 3)
        if not document:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                _part(framework, control, decode(document), *files)
            except BaseException:
                traceback.print_exc()
                control.sendall(msgspec.json.encode(Spawned()))
            finally:
                os._exit(0)
        for each in files:
            os.close(each)


def _part(
    framework: Framework, control: socket.socket, wanted: Spawn, own: int, memory: int, ended: int
) -> None:
    """Parts this process's children from the others, and starts the first of them."""
    end_with_parent()
    lacking = sandbox.part_from_others()
    first = os.fork()
    if first == 0:
        end_with_parent()
        control.close()
        try:
            _guard(framework, wanted, lacking, own, memory, ended)
        finally:
            os._exit(0)
    control.sendall(msgspec.json.encode(Spawned(first)))
    for each in (own, memory, ended):
        os.close(each)
    os.waitpid(first, 0)


def _guard(
    framework: Framework, wanted: Spawn, lacking: tuple[str, ...], own: int, memory: int, ended: int
) -> None:
    """Closes the disk off, starts the process that serves, and says how that has ended. As the
    first process of its namespace it ends all others with itself."""
    # Where it has no namespace of its own, what outlives its parent is a child of this one.
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    if sandbox.DISK not in lacking:
        lacking = (*lacking, *sandbox.close_off(wanted.root, wanted.folders, wanted.limits))
    serving = os.fork()
    if serving == 0:
        os.close(ended)
        try:
            end_with_parent()
            _keep_files(own, memory)
            sandbox.give_up_rights(wanted.limits)
            serve(framework, socket.socket(fileno=own), memory, wanted.bytes)
        finally:
            os._exit(1)
    for each in (own, memory):
        os.close(each)
    os.write(ended, msgspec.json.encode(lacking) + b"\n")
    while True:
        pid, status = os.wait()
        if pid == serving:
            os.write(ended, f"{status}\n".encode())
            return


MOST_FILES = 1024
"""Of a process that has just started: the usual limit."""


def _keep_files(*kept: int) -> None:
    """Closes all files but these; what is printed is lost."""
    empty = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(empty, standard)
    for descriptor in range(3, MOST_FILES):
        if descriptor not in kept:
            with contextlib.suppress(OSError):
                os.close(descriptor)


if __name__ == "__main__":
    main(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
