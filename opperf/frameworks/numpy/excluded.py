"""What of NumPy's public functions is no operator, each with the reason: they compute on no array.

First the modules whose subject is something else, then the file of NumPy that defines a function,
which says what it is about, then names, for functions written in C, which are in no such file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

_ABOUT_PYTHON = "for those who build or test packages"
_TYPES = "types, not functions"

MODULES: Mapping[str, str] = {
    "array_api": "the functions of np again, as a standard has them",
    "char": "strings, not numbers",
    "compat": "older versions of Python",
    "conftest": _ABOUT_PYTHON,
    "core": "where functions of np are defined",
    "ctypeslib": "an interface to C libraries",
    "distutils": _ABOUT_PYTHON,
    "doc": "text",
    "dtypes": _TYPES,
    "dual": "functions of np and linalg again",
    "exceptions": _TYPES,
    "f2py": "an interface to Fortran",
    "lib": "where functions of np are defined, and helpers to write such",
    "ma": "masked arrays, which are arrays of another type with functions of their own",
    "math": "Python's own, of numbers",
    "matlib": "the functions of np again, for matrices",
    "matrixlib": "where functions of np are defined",
    "polynomial": "series as objects, in Python on top of functions of np",
    "rec": "records, not numbers",
    "setup": _ABOUT_PYTHON,
    "strings": "strings, not numbers",
    "testing": _ABOUT_PYTHON,
    "tests": _ABOUT_PYTHON,
    "typing": _TYPES,
    "version": "the version",
}
"""Modules beside those in `registry.PLACES`, of which no function is measured. Nothing reads them;
a test fails when NumPy has one that is in neither."""

_DTYPES = "about dtypes, not about what an array holds"
_FILES = "reads or writes files"
_TEXT = "makes or reads text"
_STATE = "gets or sets how NumPy behaves"
_HELP = "for people who read or document code"
_SHAPE_ONLY = "looks at an array's shape, type or address, not at what it holds"

PRIVATE = re.compile(r"^_(\w+)_impl(?=\.py$)")
"""What NumPy 2 made of the names of its files: `_npyio_impl.py` of `npyio.py`."""

FILES: Mapping[str, str] = {
    "__config__.py": _HELP,
    "_ufunc_config.py": _STATE,
    "arrayprint.py": _TEXT,
    "npyio.py": _FILES,
    "numerictypes.py": _DTYPES,
    "utils.py": _HELP,
}
"""Files of NumPy all of whose functions are no operators."""

NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "can_cast",
            "common_type",
            "datetime_data",
            "min_scalar_type",
            "mintypecode",
            "promote_types",
            "result_type",
            "typename",
        ),
        _DTYPES,
    ),
    "fromfile": _FILES,
    **dict.fromkeys(
        (
            "base_repr",
            "binary_repr",
            "compare_chararrays",
            "datetime_as_string",
            "disp",
            "fromstring",
        ),
        _TEXT,
    ),
    **dict.fromkeys(
        (
            "geterrobj",
            "random.get_bit_generator",
            "random.get_state",
            "random.seed",
            "random.set_bit_generator",
            "random.set_state",
            "set_numeric_ops",
            "seterrobj",
        ),
        _STATE,
    ),
    **dict.fromkeys(("add_docstring", "add_newdoc", "add_newdoc_ufunc", "test"), _HELP),
    **dict.fromkeys(
        (
            "broadcast_shapes",
            "iscomplexobj",
            "isfortran",
            "isrealobj",
            "isscalar",
            "iterable",
            "may_share_memory",
            "ndim",
            "shape",
            "shares_memory",
            "size",
        ),
        _SHAPE_ONLY,
    ),
    "frompyfunc": "makes a function, not an array",
    "get_array_wrap": "finds a method of an object",
    "nested_iters": "makes iterators, not an array",
    "random.Generator.bytes": "makes a string of bytes, not an array",
    "random.Generator.spawn": "makes generators, not an array",
    "random.bytes": "makes a string of bytes, not an array",
    "random.default_rng": "makes a generator, not an array",
}
"""Functions by full name."""


def home(function: Callable[..., Any]) -> str:
    """Name of the file that defines a function, as NumPy 1 has it; empty for one written in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return PRIVATE.sub(r"\1", PurePath(code.co_filename).name) if code is not None else ""


def reason(name: str, function: Callable[..., Any]) -> str:
    """Why a public function is no operator; empty if it is one."""
    return NAMES.get(name) or FILES.get(home(function), "")
