"""NumPy's public functions that are excluded, as they compute on no array, each with the reason.

By module, by the file of NumPy that defines a function, and by name, as functions written in C have
no file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

_ABOUT_PYTHON = "for building and testing packages"
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
"""Modules outside `registry.PLACES`. Only a test reads them: it fails when NumPy has a module that
is in neither table."""

_DTYPES = "computes on dtypes, not on arrays"
_FILES = "reads or writes files"
TEXT = "makes or reads text"
_STATE = "gets or sets NumPy's configuration"
_HELP = "documentation and introspection"
_SHAPE_ONLY = "reads an array's shape, type or address, not its elements"

PRIVATE = re.compile(r"^_(\w+)_impl(?=\.py$)")
"""NumPy 2's names of its files: `_npyio_impl.py` for `npyio.py`."""

FILES: Mapping[str, str] = {
    "__config__.py": _HELP,
    "_ufunc_config.py": _STATE,
    "arrayprint.py": TEXT,
    "npyio.py": _FILES,
    "numerictypes.py": _DTYPES,
    "utils.py": _HELP,
}
"""Files of NumPy without operators."""

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
        TEXT,
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


def defining_file(function: Callable[..., Any]) -> str:
    """Returns the name of the file that defines a function, as NumPy 1 has it; empty for one
    written in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return PRIVATE.sub(r"\1", PurePath(code.co_filename).name) if code is not None else ""


def reason(name: str, function: Callable[..., Any]) -> str:
    """Returns why a public function is excluded; empty if it is an operator."""
    return NAMES.get(name) or FILES.get(defining_file(function), "")
