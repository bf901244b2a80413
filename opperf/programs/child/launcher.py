"""Runs a program in its own process, in the phases of voir: `python launcher.py OPTIONS SCRIPT
ARGUMENT...`, where the options are JSON. Whatever it has to say is written to the descriptor of
`$DATA_FD`. `python launcher.py --versions` prints the versions of the environment alone.

It is stopped at the first byte of the descriptor `control`, and ended at its end, when the process
that measures is gone.
"""

from __future__ import annotations

import _thread
import contextlib
import importlib.util
import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

FAILED = 1
"""Exit code of Python after an exception."""

PACKAGES = ("torch", "jax", "tensorflow", "numpy", "transformers", "voir")
"""Packages whose versions are facts of the environment."""

FOLDER = __file__.rpartition(os.sep)[0]
"""Without `pathlib`, as the time of each import is a program's cost."""


class Options(NamedTuple):
    """`HookOptions` of the process that starts this one, which omits those at their defaults."""

    observe: list[tuple[str, str, str]]
    voir: str = ""
    voirfiles: Sequence[str] = ()
    control: int = -1
    cpus: Sequence[int] = ()


class Stopped(SystemExit):
    """Ends a program that has made all observations that are wanted."""


def load(name: str) -> Any:
    """Returns a module of this folder, which is on no path that a program searches."""
    spec = importlib.util.spec_from_file_location(f"_opperf_{name}", f"{FOLDER}{os.sep}{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def versions() -> dict[str, str]:
    """Returns the version of Python, and those of the packages that are there."""
    from importlib import metadata

    found = {"python": "{}.{}.{}".format(*sys.version_info)}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def await_stop(control: int, stop: Any) -> None:
    """Raises an exception of the class that `stop` returns in the main thread at the first byte,
    and ends the program's whole process group at the end of the file."""
    main, owner = _thread.get_ident(), os.getpid()

    def wait() -> None:
        try:
            if os.read(control, 1):
                import ctypes

                set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
                set_exception(ctypes.c_ulong(main), ctypes.py_object(stop()))
                # Nothing more is written: it returns when the other process is gone.
                os.read(control, 1)
        except OSError:
            # The program has closed all descriptors.
            return
        if os.getpid() == owner:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    _thread.start_new_thread(wait, ())


def run_script(script: str, hooks: Any, channel: Any) -> None:
    """Runs a script as Python does."""
    channel.event("phase", {"name": "load_script"})
    with io.open_code(script) as file:
        source = file.read()
    code = hooks.compile(source, script)
    missing = hooks.missing(in_script=True)
    if missing:
        # Now, as it may never end.
        channel.event("message", missing)
    module = ModuleType("__main__")
    module.__file__ = script
    vars(module)["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    channel.event("phase", {"name": "run_script"})
    exec(code, module.__dict__)


def run_voir(options: Options, script: str, arguments: list[str], channel: Any) -> None:
    """Runs a script under voir, which has the phases itself."""
    try:
        from voir import cli
        from voir.overseer import Overseer
    except ImportError as error:
        raise ImportError(
            f"a voirfile needs voir ({error}): {sys.executable} -m pip install 'voir<0.3'"
        ) from None

    files = options.voirfiles
    go_on = Overseer._on_instrument_error

    def failed(overseer: Any, error: BaseException) -> None:
        # Voir goes on without the instrument, and says neither file nor line.
        place = place_in(files, error)
        channel.event("message", f"{place}{type(error).__name__}: {error}")
        if not hasattr(overseer, "log"):
            # Voir cannot go on yet, and would fail of what it lacks.
            early.append(error)
            raise error
        go_on(overseer, error)

    early: list[BaseException] = []
    Overseer._on_instrument_error = failed
    # Not by the variable, whose paths may have no blanks.
    os.environ.pop("VOIRFILE", None)
    cli.find_voirfiles = lambda folder: files
    try:
        cli.main(["--config", options.voir, script, *arguments])
    except Exception as error:
        raise (early or [error])[0] from None


def place_in(files: Sequence[str], error: BaseException) -> str:
    """Returns the last line of files that an error came through, `voirfile.py:3: `."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file in files:
            place = f"{os.path.basename(file)}:{trace.tb_lineno}: "  # noqa: PTH119
        trace = trace.tb_next
    return place


def stop_class_of_voir() -> Any:
    """Returns the exception that voir takes for a stop, and not for an error."""
    from voir.phase import StopProgram

    class Stop(StopProgram):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(None)

    return Stop


def report(channel: Any, error: BaseException, files: Sequence[str]) -> None:
    """Writes an error as Python does, without the frames above the program, and as an event, with
    its place in voirfiles."""
    import traceback

    trace = error.__traceback__
    # The script itself may be no Python: then the frame is that of its parser.
    while trace is not None and (
        trace.tb_frame.f_code.co_filename.startswith(FOLDER)
        or trace.tb_frame.f_globals.get("__name__") == "ast"
    ):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    sys.stderr.write("".join(lines))
    channel.event(
        "error",
        {
            "type": type(error).__name__,
            "message": str(error),
            "trace": "".join(lines),
            "place": place_in(files, error),
        },
    )


def memory_peak() -> int | None:
    """Returns the most bytes that this process had in memory; None where the kernel does not say.
    Not by `getrusage`, whose peak begins with that of the process that started this one."""
    with contextlib.suppress(OSError), io.open_code("/proc/self/status") as file:
        for line in file.read().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


def main() -> None:
    """Runs the program of the command line."""
    options = Options(**json.loads(sys.argv[1]))
    script, arguments = sys.argv[2], sys.argv[3:]
    steps_module, hooks_module = load("steps"), load("hooks")
    channel = steps_module.Channel(int(os.environ["DATA_FD"]))
    is_voir = bool(options.voir)
    if not is_voir:
        channel.event("phase", {"name": "init"})
    if options.cpus:
        # A control group may have lost some of them.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, options.cpus)
    steps = steps_module.Steps(channel)
    hooks = hooks_module.Hooks(
        options.observe,
        steps,
        steps_module.item_count,
        lambda *given: load("rewriting").rewrite(*given),
    )
    await_stop(options.control, stop_class_of_voir if is_voir else lambda: Stopped)
    if not is_voir:
        channel.event("phase", {"name": "parse_args"})
    sys.argv[:] = [script, *arguments]
    folder, _, name = script.rpartition(os.sep)
    sys.path.insert(0, folder)
    try:
        if is_voir:
            run_voir(options, script, arguments, channel)
        else:
            hooks.install(name.partition(".")[0])
            run_script(script, hooks, channel)
    except Stopped:
        pass
    except SystemExit:
        raise
    except BaseException as error:
        report(channel, error, options.voirfiles)
        sys.exit(FAILED)
    finally:
        if not is_voir:
            channel.event("phase", {"name": "finalize"})
        finish(channel, steps, hooks)


def finish(channel: Any, steps: Any, hooks: Any) -> None:
    """Writes what is left to write of the program."""
    try:
        steps.finish()
    except Exception as error:
        # The device may be what the program has failed of.
        channel.event("message", f"steps are not complete: {type(error).__name__}: {error}")
    missing = hooks.missing()
    if missing:
        channel.event("message", missing)
    peak = memory_peak()
    if peak is not None:
        channel.write(task="main", memory_peak=peak)


if __name__ == "__main__":
    # The folder of this file, which Python has put first.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    if sys.argv[1:] == ["--versions"]:
        print(json.dumps(versions()))
    else:
        main()
