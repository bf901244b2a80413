"""MXNet's operator registry, read through its C API, and the registered operators behind the
functions of its namespaces, by place and name."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

import msgspec

from opperf.frameworks.mxnet import categories, user_operators
from opperf.frameworks.mxnet.private import c_str, check_call, library, py_str
from opperf.model import CallableTarget, Kind, Operator, Parameter, Target

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


PREFIXES = {
    "mxnet.numpy": ("_npi_", "_np_", "_npx_", ""),
    "mxnet.numpy_extension": ("_npx_", "_npi_", "_np_", ""),
    "mxnet.ndarray": ("", "_", "_contrib_", "_npi_", "_np_"),
}
"""Prefixes of the registered names that a namespace's functions may wrap, the likeliest first."""

NUMPY_PREFIXES = ("_npi_", "_np_", "_npx_")
"""Prefixes of registered names that the functions of `mx.np` and `mx.npx` do not have."""

BROADCASTING = (
    "equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor "
    "add maximum minimum power divide=div modulo=mod multiply=mul subtract=sub true_divide=div"
)
"""Functions of `mx.nd` that broadcast, and the ends of their operators' names, where others."""

WRAPPED = {
    **{
        f"ndarray.ndarray.{name}": f"broadcast_{end or name}"
        for name, _, end in (word.partition("=") for word in BROADCASTING.split())
    },
    "ndarray.random.multinomial": "_sample_multinomial",
    "numpy.bitwise_invert": "_npi_bitwise_not",
    "numpy.identity": "_npi_identity",
    "numpy.invert": "_npi_bitwise_not",
    "numpy.random.power": "_npi_powerd",
    "numpy_extension.random.categorical": "_sample_categorical",
    "numpy_extension.random.multinomial": "_sample_multinomial",
}
"""Operators behind functions of another name, by the function's place in MXNet."""


def snake_case(name: str) -> str:
    """Returns `BatchNorm` as `batch_norm`, `LeakyReLU` as `leaky_relu`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def spellings(name: str) -> list[str]:
    """Returns the names an operator may have in any namespace, the requested one first."""
    found, folded_name = [name], snake_case(name)
    for bare, folded in _words():
        if name in bare or folded_name in folded:
            found.extend(sorted(bare) + sorted(folded))
    return list(dict.fromkeys(found))


@functools.cache
def _words() -> list[tuple[set[str], set[str]]]:
    """Returns the names that namespaces may have for each operator, also in snake case."""
    words = []
    for operator in operators():
        bare = {
            alias[len(prefix) :]
            for alias in operator.names
            for prefix in NUMPY_PREFIXES
            if alias.startswith(prefix)
        } | {alias for alias in operator.names if not alias.startswith("_")}
        words.append((bare, {snake_case(word) for word in bare}))
    return words


def place_of(target: Target) -> str:
    """Returns the place of a callable in MXNet, `numpy.linalg.svd`; empty for a registered
    operator. Functions that `mx.np` calls are below `mx.nd`, with the same arguments."""
    if not isinstance(target, CallableTarget):
        return ""
    root, _, place = target.path.partition(".")
    if root == "numpy":
        # MXNet has some functions of NumPy itself in places to which no path of MXNet leads back.
        return target.path
    if root not in ("mx", "mxnet"):
        return ""
    place = place.replace("numpy.function_base.", "numpy.")
    return place.removeprefix("ndarray.") if place.startswith("ndarray.numpy") else place


def wrapped_operator(target: Target, called: Operator) -> Operator | None:
    """Returns the registered operator that a function calls or wraps: itself, or the one of its
    name in its namespace, or of a name alike. None for a function outside MXNet."""
    if called.namespace or not isinstance(target, CallableTarget):
        return called if called.namespace else None
    known = by_name()
    if place_of(target) in WRAPPED:
        return known.get(WRAPPED[place_of(target)])
    words = [target.path.partition(".")[0], *place_of(target).split(".")]
    prefixes = PREFIXES.get(".".join(words[:2]), ())
    submodule = "".join(f"{word}_" for word in words[2:-1])
    needed = len([p for p in called.tensors if p.required])
    for word in spellings(called.name) if prefixes else ():
        for prefix in prefixes:
            own = known.get(prefix + submodule + word) if submodule else None
            if own is not None:
                return own
            operator = known.get(prefix + word)
            if operator is not None and len(operator.tensors) >= needed:
                return operator
    return None
