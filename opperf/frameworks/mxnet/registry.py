"""MXNet's operator registry, read through its C API."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

import msgspec

from opperf.frameworks.mxnet import categories, user_operators
from opperf.frameworks.mxnet.private import c_str, check_call, library, py_str
from opperf.model import Kind, Operator, Parameter

FRAMEWORK = "mxnet"

NAMESPACES = (
    ("_npx_", "npx"),
    ("_npi_", "np"),
    ("_np_", "np"),
    ("_contrib_", "contrib"),
    ("_linalg_", "linalg"),
    ("_random_", "random"),
    ("_sample_", "random"),
    ("_image_", "image"),
    ("_sparse_", "sparse"),
    ("_", "internal"),
)
"""Prefixes of names and the namespaces of such operators, the first match; else it is `nd`."""

PUBLIC = ("nd", "contrib", "linalg", "random", "image", "sparse")
"""Public namespaces of `mx.nd`."""

KINDS = (
    (r"(NDArray|Symbol).*\[\]", Kind.TENSORS),
    (r"NDArray|Symbol", Kind.TENSOR),
    (r"\{", Kind.ENUM),
    (r"Shape", Kind.SHAPE),
    (r"tuple of <(long|int)", Kind.SHAPE),
    (r"tuple of", Kind.FLOATS),
    (r"bool", Kind.BOOL),
    (r"int|long", Kind.INT),
    (r"float|double|real_t", Kind.FLOAT),
    (r"string|str", Kind.STRING),
)
"""Beginning of a declared type and the kind it means; the first match counts."""


@functools.cache
def registered() -> tuple[str, ...]:
    """Returns every registered name, those of backward operators included."""
    size = ctypes.c_uint()
    names = ctypes.POINTER(ctypes.c_char_p)()
    check_call(library.MXListAllOpNames(ctypes.byref(size), ctypes.byref(names)))
    return tuple(py_str(names[i]) for i in range(size.value))


def handle(name: str) -> int:
    """Returns an operator's handle in MXNet's C API."""
    found = ctypes.c_void_p()
    check_call(library.NNGetOpHandle(c_str(name), ctypes.byref(found)))
    return int(found.value or 0)


def parse_parameter(name: str, declared: str) -> Parameter:
    """Returns a parameter from MXNet's declaration, e.g. `int, optional, default='1'`."""
    kind = next((kind for pattern, kind in KINDS if re.match(pattern, declared)), Kind.OTHER)
    choices: tuple[str, ...] = ()
    if kind is Kind.ENUM:
        inside = declared[1 : declared.index("}")]
        choices = tuple(part.strip().strip("'") for part in inside.split(","))
    default = re.search(r"default=(.*)$", declared)
    optional = default is not None or "optional" in declared
    return Parameter(
        name=name,
        kind=kind,
        required=not optional,
        default=default.group(1).strip("'") if default else None,
        choices=choices,
        declared=declared,
    )


def _describe(handle: int) -> tuple[str, tuple[Parameter, ...], str | None]:
    """Returns the canonical name, parameters and the counting parameter's name of an operator."""
    name, text, counter, returns = (ctypes.c_char_p() for _ in range(4))
    count = ctypes.c_uint()
    names, types, texts = (ctypes.POINTER(ctypes.c_char_p)() for _ in range(3))
    outputs: list[Any] = [name, text, count, names, types, texts, counter, returns]
    check_call(
        library.MXSymbolGetAtomicSymbolInfo(
            ctypes.c_void_p(handle), *(ctypes.byref(output) for output in outputs)
        )
    )
    parameters = tuple(
        parse_parameter(py_str(names[i]), py_str(types[i])) for i in range(count.value)
    )
    return (py_str(name.value), parameters, (py_str(counter.value) if counter.value else None))


def namespace_of(name: str) -> str:
    """Returns the namespace MXNet puts a registered name in."""
    return next((space for prefix, space in NAMESPACES if name.startswith(prefix)), "nd")


def shown_name(canonical: str, names: list[str]) -> str:
    """Returns the canonical name, or the public alias (`identity`) of a private one (`_copy`)."""
    if not canonical.startswith("_"):
        return canonical
    public = sorted((n for n in names if not n.startswith("_")), key=lambda n: (len(n), n))
    without = canonical.lstrip("_")
    return without if without in public else (public[0] if public else canonical)


def operators() -> tuple[Operator, ...]:
    """Returns every distinct operator but backward ones, a user's included, sorted by name."""
    return _with_registered(len(user_operators.REGISTERED))


@functools.cache
def _with_registered(count: int) -> tuple[Operator, ...]:
    found = built_in()
    names = {name: operator for operator in found for name in operator.names}
    own = user_operators.operators(names, FRAMEWORK)
    return tuple(sorted((*found, *own), key=lambda operator: operator.name))


@functools.cache
def built_in() -> tuple[Operator, ...]:
    """Returns every distinct operator of MXNet's that is not a backward one, sorted by name."""
    by_handle: dict[int, list[str]] = {}
    for name in registered():
        if "backward" not in name:
            by_handle.setdefault(handle(name), []).append(name)
    folded: dict[str, tuple[list[str], tuple[Parameter, ...], str | None]] = {}
    for number, names in by_handle.items():
        canonical, parameters, counter = _describe(number)
        folded.setdefault(canonical, ([], parameters, counter))[0].extend(names)
    found = [
        _operator(canonical, names, parameters, counter)
        for canonical, (names, parameters, counter) in folded.items()
    ]
    return tuple(sorted(found, key=lambda operator: operator.name))


def _operator(
    canonical: str, names: list[str], parameters: tuple[Parameter, ...], counter: str | None
) -> Operator:
    name = shown_name(canonical, names)
    # `_copy` is `mx.nd.identity` to a user, and `_np_cumsum` is `mx.nd.cumsum`.
    space = namespace_of(canonical)
    if space in ("internal", "np", "npx") and not name.startswith("_"):
        space = "nd"
    aliases = tuple(sorted({canonical, *names} - {name}))
    spaces = tuple(sorted({space, *(namespace_of(n) for n in (name, *aliases))}))
    operator = Operator(
        framework=FRAMEWORK,
        namespace=space,
        namespaces=spaces,
        name=name,
        aliases=aliases,
        parameters=parameters,
        public=bool(set(spaces) & set(PUBLIC)),
        variadic=counter,
    )
    return msgspec.structs.replace(operator, category=categories.category_of(operator))


def by_name() -> dict[str, Operator]:
    """Returns every registered name, canonical or alias, and its operator."""
    return _by_name(len(user_operators.REGISTERED))


@functools.cache
def _by_name(count: int) -> dict[str, Operator]:
    return {name: operator for operator in operators() for name in operator.names}
