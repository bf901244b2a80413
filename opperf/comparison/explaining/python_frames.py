"""Which functions are the Python interpreter's own."""

from __future__ import annotations

import re

from opperf.comparison.explaining.functions import Function

PYTHON_FRAMES = Function("Python's own frames", "")
"""Stands for all functions of the interpreter."""

OBJECTS = re.compile(r"libpython[\d.]+\w*\.(so|dylib)[\d.]*|python[\d.]*\w*")
"""The interpreter, as a library or as a program."""

NAMES = re.compile(r"_?Py[A-Za-z]*_\w+(\.\w+)*")
"""Functions of Python's C interface, which other objects hold copies of, with the compiler's
suffixes (`.cold`, `.part.0`). None is of C++."""

NUMPY = ("PyArray", "PyUFunc", "PyDataMem", "_PyArray")
"""Beginnings of NumPy's functions, which are named alike."""


def is_python_frame(function: Function) -> bool:
    """Returns whether a function is the interpreter's own, by its object or its name."""
    if OBJECTS.fullmatch(function.object):
        return True
    return NAMES.fullmatch(function.name) is not None and not function.name.startswith(NUMPY)
