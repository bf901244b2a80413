"""NumPy's public functions that compute on no array, each with the reason: by the file that defines
a function, and by name, as functions written in C have no file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

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
    name: why
    for why, names in {
        _DTYPES: (
            "can_cast common_type datetime_data min_scalar_type mintypecode promote_types "
            "result_type typename"
        ),
        _FILES: "fromfile",
        TEXT: "base_repr binary_repr datetime_as_string disp fromstring",
        _STATE: (
            "geterrobj random.get_bit_generator random.get_state random.seed "
            "random.set_bit_generator random.set_state set_numeric_ops seterrobj"
        ),
        _HELP: "add_docstring add_newdoc add_newdoc_ufunc test",
        _SHAPE_ONLY: (
            "broadcast_shapes iscomplexobj isfortran isrealobj isscalar iterable may_share_memory "
            "ndim shape shares_memory size"
        ),
        "makes a function, not an array": "frompyfunc",
        "makes arrays of a class for programs of old": "char.array char.asarray",
        "finds a method of an object": "get_array_wrap",
        "makes iterators, not an array": "nested_iters",
        "makes a string of bytes, not an array": "random.Generator.bytes random.bytes",
        "makes generators, not an array": "random.Generator.spawn",
        "makes a generator, not an array": "random.default_rng",
    }.items()
    for name in names.split()
}
"""Functions that are no operators by full name, each with the reason."""


def defining_file(function: Callable[..., Any]) -> str:
    """Returns the file that defines a function, as NumPy 1 has it; empty for one written in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return PRIVATE.sub(r"\1", PurePath(code.co_filename).name) if code is not None else ""


def reason(name: str, function: Callable[..., Any]) -> str:
    """Returns why a public function is excluded; empty if it is an operator."""
    return NAMES.get(name) or FILES.get(defining_file(function), "")
