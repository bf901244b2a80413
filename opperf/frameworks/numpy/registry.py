"""NumPy's public functions as operators, read from the package itself."""

from __future__ import annotations

import builtins
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from opperf.frameworks.installed import renamed
from opperf.frameworks.numpy import excluded, signatures
from opperf.frameworks.numpy.excluded import defining_file
from opperf.frameworks.paths import fold_aliases
from opperf.model import Kind, Operator, Parameter

FRAMEWORK = "numpy"


class Place(NamedTuple):
    """A module or class with public functions."""

    namespace: str
    prefix: str
    """Prefix of their names, below `np`."""
    holder: Any


TEXTS = ("strings", "char")
"""Namespaces of functions of texts."""

PLACES = (
    Place("np", "", np),
    Place("linalg", "linalg.", np.linalg),
    Place("fft", "fft.", np.fft),
    Place("emath", "emath.", np.emath),
    Place("random", "random.", np.random),
    Place("random", "random.Generator.", np.random.Generator),
    # Since NumPy 2, which has most of `char` there.
    *(Place(name, f"{name}.", getattr(np, name)) for name in TEXTS if hasattr(np, name)),
)
"""The public namespaces. A function that several hold counts for the first."""

DTYPES = (
    *("float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"),
    *("complex64", "complex128"),
)
"""Supported dtypes."""

ALIAS = re.compile(r"(?:\balias (?:of|for)|please use)\s+`(?:~numpy\.)?(\w+)`", re.IGNORECASE)
"""A docstring's declaration of an alias: `amax` of `max`, `product` of `prod`."""

SECTION = re.compile(r"\n-{3,}")
"""The line below the title of a docstring's section. Sections mention other functions' aliases; the
text before them is about the function itself."""


UNDOCUMENTED = renamed(
    "alltrue=all around=round_ cumproduct=cumprod product=prod row_stack=vstack sometrue=any"
)
"""Old names that the docstrings of some versions of NumPy do not declare as aliases."""


class Found(NamedTuple):
    """A function and where it is."""

    name: str
    """Below `np`."""
    place: Place
    function: Callable[..., Any]


def is_function(value: Any) -> bool:
    """Whether a value is a function, written in Python or C, or a ufunc."""
    return callable(value) and not isinstance(value, (type, ModuleType))


def public_names(holder: Any) -> list[str]:
    """Returns the names on offer. NumPy's `__all__` lacks some, such as `np.abs`, a builtin's."""
    listed = set(getattr(holder, "__all__", None) or dir(holder))
    if holder is np:
        listed |= set(vars(holder)) & set(vars(builtins))
    return sorted(name for name in listed if not name.startswith("_"))


@functools.cache
def public_functions() -> dict[str, Found]:
    """Returns every public function by its full name, operator or not."""
    found: dict[str, Found] = {}
    for place in PLACES:
        for short in public_names(place.holder):
            value: Any = getattr(place.holder, short, None)
            if is_function(value):
                name = place.prefix + short
                found[name] = Found(name, place, value)
    return found


@functools.cache
def _first_names() -> dict[int, str]:
    """Returns the first full name of each function object, by identity."""
    known = public_functions()
    return {id(known[name].function): name for name in reversed(known)}


def _alias_of(found: Found) -> str:
    """Returns the function that this is an alias of, by identity or else by documentation."""
    known = public_functions()
    own = found.place.prefix + getattr(found.function, "__name__", "")
    if own != found.name and own in known and known[own].function is found.function:
        return own
    first = _first_names()[id(found.function)]
    if known[first].place.namespace != found.place.namespace:
        return first
    said = ALIAS.search(SECTION.split(inspect.getdoc(found.function) or "")[0])
    named = found.place.prefix + said.group(1) if said else UNDOCUMENTED.get(found.name, found.name)
    return named if named in known else found.name


def canonical_name(name: str) -> str:
    """Returns the name at the end of a chain of aliases."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        name = _alias_of(public_functions()[name])
    return name


@functools.cache
def operators() -> tuple[Operator, ...]:
    """Returns every distinct operator, aliases folded, sorted by name."""
    known = public_functions()
    distinct = fold_aliases(
        (canonical_name(name), name)
        for name, found in known.items()
        if not excluded.reason(name, found.function)
    )
    return tuple(_operator(known[name], aliases) for name, aliases in distinct)


def _operator(found: Found, aliases: tuple[str, ...]) -> Operator:
    name, place, function = found
    known = public_functions()
    operator = Operator(
        framework=FRAMEWORK,
        namespace=place.namespace,
        name=name,
        aliases=aliases,
        namespaces=tuple(
            sorted({known[spelling].place.namespace for spelling in (name, *aliases)})
        ),
        parameters=declared_parameters(name, place.namespace, function),
        # NumPy has no gradients to try.
        differentiable=False,
    )
    category = category_of(operator, function)
    return msgspec.structs.replace(operator, category=category)


def declared_parameters(
    name: str, namespace: str, function: Callable[..., Any]
) -> tuple[Parameter, ...]:
    """Returns the parameters of a function, without `self`."""
    return tuple(
        _parameter(name, namespace, parameter)
        for parameter in signatures.parameters(name, function).values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.name != "self"
    )


def _parameter(name: str, namespace: str, declared: inspect.Parameter) -> Parameter:
    kind = signatures.kind_of(name, namespace, declared)
    required = declared.default is declared.empty
    return Parameter(
        name=declared.name,
        kind=kind,
        required=required,
        default=None if required else str(declared.default),
        choices=DTYPES if (declared.name, kind) == ("dtype", Kind.ENUM) else (),
        declared=str(declared),
    )


@functools.cache
def by_name() -> dict[str, Operator]:
    """Returns every full name, canonical or alias, and its operator."""
    return {name: operator for operator in operators() for name in operator.names}


@functools.cache
def by_identity() -> dict[int, Operator]:
    """Returns the operator of each function object, by identity, under any of its names."""
    return {id(public_functions()[name].function): one for name, one in by_name().items()}


def operator_of(function: Callable[..., Any]) -> Operator | None:
    """Returns the operator that a callable is; None for any other."""
    return by_identity().get(id(function))


Rule = Callable[[Operator, Callable[..., Any]], bool]


def namespace(*names: str) -> Rule:
    """Functions of one of these namespaces."""
    return lambda operator, function: operator.namespace in names


def elementwise(inputs: int) -> Rule:
    """Ufuncs of that many inputs, each element by itself."""
    return lambda operator, function: (
        isinstance(function, np.ufunc) and function.nin == inputs and function.signature is None
    )


def parameter(name: str) -> Rule:
    """Functions with a parameter of that name."""
    return lambda operator, function: operator.parameter(name) is not None


def defined_in(file: str) -> Rule:
    """Functions that a file of NumPy defines."""
    return lambda operator, function: defining_file(function) == file


def named(names: str) -> Rule:
    """Functions of which any name is one of these."""
    wanted = frozenset(names.split())
    return lambda operator, function: not wanted.isdisjoint(operator.names)


RULES: Mapping[str, tuple[Rule, ...]] = {
    "text": (namespace(*TEXTS), named("compare_chararrays")),
    "sorting": (
        named("argpartition argsort lexsort msort partition sort sort_complex searchsorted"),
        named("argmax argmin nanargmax nanargmin"),
    ),
    # Before linear algebra, whose namespace has the norms.
    "reduction": (
        parameter("keepdims"),
        named("allclose array_equal array_equiv trace trapz trapezoid"),
    ),
    "linalg": (
        namespace("linalg"),
        named("dot einsum einsum_path inner kron matmul matvec outer tensordot vdot cross"),
        named("vecdot vecmat"),
    ),
    "fft": (namespace("fft"),),
    "random": (namespace("random"),),
    "unary": (
        elementwise(1),
        namespace("emath"),
        defined_in("ufunclike.py"),
        named("angle i0 imag iscomplex isreal nan_to_num real real_if_close round sinc clip"),
    ),
    "binary": (elementwise(2), named("isclose")),
    "cumulative": (
        named("cumprod cumsum nancumprod nancumsum diff ediff1d gradient unwrap"),
        named("cumulative_prod cumulative_sum"),
    ),
    "set": (defined_in("arraysetops.py"),),
    "polynomial": (defined_in("polynomial.py"),),
    "statistics": (
        defined_in("histograms.py"),
        named("bincount corrcoef cov digitize histogram2d interp convolve correlate"),
    ),
    "window": (named("bartlett blackman hamming hanning kaiser"),),
    "date": (named("busday_count busday_offset is_busday"),),
    "joining": (
        named("append block bmat column_stack concatenate dstack hstack insert stack vstack"),
    ),
    "splitting": (named("array_split dsplit hsplit split unstack vsplit"),),
    "creation": (
        named("arange empty eye full geomspace identity indices linspace logspace ones tri zeros"),
        named("empty_like full_like ones_like zeros_like vander fromfunction fromiter meshgrid"),
    ),
    "indexing": (
        named("argwhere choose compress copyto delete diag_indices diag_indices_from extract"),
        named("fill_diagonal flatnonzero ix_ mask_indices nonzero piecewise place put"),
        named("put_along_axis putmask ravel_multi_index select take take_along_axis tril_indices"),
        named("tril_indices_from triu_indices triu_indices_from trim_zeros unravel_index where"),
    ),
    "conversion": (
        named("array asanyarray asarray asarray_chkfinite ascontiguousarray asfarray copy"),
        named("asfortranarray asmatrix fastCopyAndTranspose from_dlpack frombuffer require"),
        named("astype packbits unpackbits"),
    ),
    "shape": (
        named("atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to diag diagflat"),
        named("diagonal expand_dims flip fliplr flipud moveaxis pad ravel repeat reshape resize"),
        named("matrix_transpose roll rollaxis rot90 squeeze swapaxes tile transpose tril triu"),
    ),
    "python_function": (named("apply_along_axis apply_over_axes"),),
}
"""Category and the rules that put a function in it; the first match counts."""

OTHER = "other"
"""The category of a function that no rule knows, as a newer NumPy may have."""


def category_of(operator: Operator, function: Callable[..., Any]) -> str:
    """Returns the category of an operator."""
    for category, rules in RULES.items():
        if any(rule(operator, function) for rule in rules):
            return category
    return OTHER
