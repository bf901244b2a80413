"""Writes the modules of opperf that hand a case on, of a manager and of its workers, to files.

A module does if one of its functions returns the case, what holds it or the call made of it; or if
it has one of these on its stack when the case is sent to a worker, or when the framework is called
under a profiler. What only looks at the case, and returns something else, is none. Each process
writes to a file of its own in the folder that OPPERF_CASE_PATH names.
"""

# The process should import no more than without this module.
# ruff: noqa: PTH118, PTH123

import os
import sys

PACKAGE = os.path.join(os.environ.get("OPPERF_PACKAGE", ""), "")

HOLDERS = ("Case", "Plan", "Work", "Task", "Completed", "PreparedCase", "Visit", "MeasureRequest")
"""Types of cases, and of what holds them."""

FRAMEWORKS_CALLS = {"_imperative_invoke": "ndarray.py", "__call__": "_ops.py"}
"""Functions of MXNet and PyTorch that run an operator, and their files."""

found = set()


def holds(value, depth=1):
    """Returns whether a value is a case, or a container of some."""
    if type(value).__name__ in HOLDERS:
        return True
    if depth and isinstance(value, (tuple, list)):
        return any(holds(element, depth - 1) for element in value[:2])
    return False


def add(frame):
    """Adds the module of a frame."""
    module = frame.f_code.co_filename[len(PACKAGE) :]
    if module not in found:
        found.add(module)
        with open(os.path.join(os.environ["OPPERF_CASE_PATH"], str(os.getpid())), "w") as file:
            file.write("\n".join(found))


def add_stack(frame):
    """Adds the modules that have the case on the stack, as a variable or of their object."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            local = frame.f_locals
            own = getattr(local.get("self"), "__dict__", {})
            if any(holds(value) for value in (*local.values(), *own.values())):
                add(frame)
        frame = frame.f_back


def is_profiled(frame):
    """Returns whether a call is one of a profiler's."""
    while frame is not None:
        if frame.f_code.co_name == "trace" and frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def arguments(frame):
    code = frame.f_code
    return [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]


def called(frame, event, value):
    code = frame.f_code
    is_own = code.co_filename.startswith(PACKAGE)
    if event == "call":
        is_sent = (
            is_own and code.co_name == "_ask" and "MeasureRequest" in map(kind, arguments(frame))
        )
        file = FRAMEWORKS_CALLS.get(code.co_name)
        is_run = file is not None and code.co_filename.endswith(file) and is_profiled(frame)
        if is_sent or is_run:
            add_stack(frame)
            sys.setprofile(None)
    elif event == "return" and is_own:
        if code.co_name == "__init__":
            value = frame.f_locals.get("self")
        # A comprehension is part of its function.
        is_function = code.co_name == "<lambda>" or not code.co_name.startswith("<")
        if is_function and (holds(value) or is_call(frame, value)):
            add(frame)


def kind(value):
    return type(value).__name__


def is_call(frame, value):
    """Returns whether a function of a case has made a call of it."""
    made = callable(value) and not isinstance(value, type)
    return made and "Case" in map(kind, arguments(frame))


if os.environ.get("OPPERF_CASE_PATH"):
    sys.setprofile(called)
