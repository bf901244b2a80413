"""One operator in MXNet's namespaces: its name in each, and inputs of a given size for each."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opperf.errors import UnknownOperatorError, suggestion
from opperf.frameworks import Framework
from opperf.model import Argument, CallableTarget, Kind, Operator, Target, TensorSpec
from opperf.rules.engine import NoInputs, holds_tensors, inputs_for, rules_module, under_own_names
from opperf.rules.mxnet.jpeg import TILE_SIDE, jpeg
from opperf.rules.sizes import PRESETS, Preset
from opperf.utils.fitting import fitted
from opperf.utils.ranges import Shape

NAMESPACES = {
    "mxnet.ndarray": ("ndarray", ""),
    "mxnet.numpy": ("numpy", "_npi_ _np_"),
    "mxnet.numpy_extension": ("numpy_extension", "_npx_"),
}
"""Namespace as it is printed, the attribute of `mxnet`, and its prefixes in the registry."""

PREFIXES = {
    "mxnet.numpy": ("_npi_", "_np_", "_npx_", ""),
    "mxnet.numpy_extension": ("_npx_", "_npi_", "_np_", ""),
    "mxnet.ndarray": ("", "_", "_contrib_", "_npi_", "_np_"),
}
"""Prefixes of the registered names that a namespace's functions may wrap, the likeliest first."""

WRAPPED = {
    "ndarray.random.multinomial": "_sample_multinomial",
    "numpy.bitwise_invert": "_npi_bitwise_not",
    "numpy.invert": "_npi_bitwise_not",
    "numpy_extension.random.categorical": "_sample_categorical",
    "numpy_extension.random.multinomial": "_sample_multinomial",
}
"""Operators behind functions of another name, by the function's place in MXNet."""


def whole(size: Shape) -> Shape:
    """A tensor of the size, or a shape that is the size."""
    return size


def flat(size: Shape) -> Shape:
    """A tensor of one axis with as many elements."""
    return (math.prod(size),)


def rows(size: Shape) -> int:
    """The first extent, as a number."""
    return size[0]


def leading(size: Shape) -> Shape:
    """A tensor of one axis as long as the first."""
    return size[:1]


def elements(size: Shape) -> int:
    """How many elements a tensor of the size has."""
    return math.prod(size)


ARRAYS = frozenset(
    {
        "a1",
        "a2",
        "ar1",
        "ar2",
        "element",
        "object",
        "prototype",
        "source_array",
        "test_elements",
    }
)
"""Names under which functions require an array, and which mean something else elsewhere."""

REQUIRED: dict[str, Any] = {
    **dict.fromkeys(ARRAYS, whole),
    **dict.fromkeys(("n", "N"), rows),
    "M": elements,
    "axis": 0,
    "axis1": 0,
    "axis2": 1,
    "deg": 2,
    "destination": -1,
    "fill_value": 1.0,
    "indices_or_sections": 2,
    "kth": 1,
    "new_shape": whole,
    "newshape": (-1,),
    "obj": 0,
    "q": 0.5,
    "shift": 1,
    "source": 0,
    "stype": "csr",
    "val": 1.0,
}
"""What a function is given for an argument that it requires and that no rule has, by name: a
value, or a function of the size. A half is a percentile as well as a quantile."""


def couple(size: Shape) -> list[Shape]:
    """Two tensors of the size."""
    return [size, size]


def picture(size: Shape) -> Shape:
    """A colour picture of the size's height and width."""
    return (size[0], size[-1], 3)


def half_width(size: Shape) -> int:
    """Half the width of a picture."""
    return max(1, size[-1] // 2)


def half_height(size: Shape) -> int:
    """Half the height of a picture."""
    return max(1, size[0] // 2)


def halved(size: Shape) -> tuple[int, int]:
    """Half a picture's width and half its height, as its helpers want them."""
    return (half_width(size), half_height(size))


def one_picture(size: Shape) -> Shape:
    """A batch of one colour picture, channels first."""
    return (1, 3, size[0], size[-1])


LAYERS: dict[str, Any] = {
    **dict.fromkeys(("weights", "grads", "mean", "var", "out"), couple),
    "lrs": (0.1, 0.1),
    "wds": (0.0, 0.0),
}
"""Two layers' weights, updated at once; what they come to is written behind them."""
MASTERS = {"weights32": couple}
COUNTS = {"step_count": (1, 1)}
RATES = {"rescale_grad": 1.0, "etas": (1.0, 1.0)}

UPDATES: dict[str, dict[str, Any]] = {
    f"ndarray.contrib.multi_{precision}{rule}_update": {**LAYERS, **masters, **own}
    for precision, masters in (("", {}), ("mp_", MASTERS))
    for rules, own in ((("lamb", "lans"), COUNTS), (("adamw", "adabelief"), RATES))
    for rule in rules
}

HALF = {"w": half_width, "h": half_height}
INCEPTION = {"area": (0.08, 1.0), "ratio": (3 / 4, 4 / 3)}
"""Share of a picture that a crop has, and its width by its height, as GoogLeNet was trained."""

MATRIX = {"N": rows, "M": lambda size: size[-1]}
COUNTED = {"start": 0.0, "stop": 1.0, "num": elements}
RANGE = {"start": 0, "stop": elements}

ARGUMENTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("ndarray.ndarray.arange", "numpy.arange"), RANGE),
    **dict.fromkeys(("ndarray.ndarray.eye", "numpy.eye", "numpy.tri"), MATRIX),
    **dict.fromkeys(("ndarray.ndarray.linspace", "numpy.linspace", "numpy.logspace"), COUNTED),
    **{f"numpy.poly{verb}": {"a1": flat, "a2": flat} for verb in ("add", "sub", "mul")},
    **UPDATES,
    "ndarray.contrib.rand_zipfian": {
        "true_classes": lambda size: np.arange(elements(size)),
        "num_sampled": elements,
        "range_max": 10_000,
    },
    "image.image.center_crop": {"src": picture, "size": halved},
    "image.image.fixed_crop": {"src": picture, "x0": 0, "y0": 0, **HALF},
    "image.image.imdecode": {"buf": np.frombuffer(jpeg(TILE_SIDE, TILE_SIDE), np.uint8)},
    "image.image.imresize": {"src": picture, **HALF},
    "image.image.imrotate": {"src": one_picture, "rotation_degrees": 30.0},
    "image.image.random_crop": {"src": picture, "size": halved},
    "image.image.random_rotate": {"src": one_picture, "angle_limits": (-30.0, 30.0)},
    "image.image.random_size_crop": {"src": picture, "size": halved, **INCEPTION},
    "image.image.resize_short": {"src": picture, "size": half_height},
    "numpy.alltrue": {"a": whole},
    "numpy.asarray": {"obj": whole},
    "numpy.compress": {"condition": leading, "a": whole, "axis": 0},
    "numpy.correlate": {"a": flat, "v": flat},
    "numpy.einsum": {"operands": lambda size: ["...i,...i->...", size, size]},
    "numpy.histogram2d": {"x": flat, "y": flat},
    "numpy.histogramdd": {"sample": lambda size: (elements(size), 2)},
    "numpy.identity": {"n": rows},
    "numpy.imag": {"val": whole},
    "numpy.insert": {"arr": whole, "obj": 0, "values": lambda size: size[1:], "axis": 0},
    "numpy.interp": {"x": whole, "xp": flat, "fp": flat},
    "numpy.ix_": {"args": lambda size: [flat(size), flat(size)]},
    "numpy.lexsort": {"keys": whole},
    "numpy.linalg.matrix_power": {"a": whole, "n": 3},
    "numpy.poly": {"seq_of_zeros": flat},
    "numpy.polydiv": {"u": flat, "v": flat},
    "numpy.polyfit": {"x": flat, "y": flat, "deg": 2},
    "numpy.polyint": {"p": flat},
    "numpy.random.beta": {"a": 2.0, "b": 3.0},
    "numpy.random.chisquare": {"df": 3.0},
    "numpy.random.f": {"dfnum": 4.0, "dfden": 6.0},
    "numpy.random.multivariate_normal": {"mean": np.zeros(2), "cov": np.eye(2), "size": whole},
    "numpy.random.power": {"a": 3.0},
    "numpy.random.randint": {"low": 0, "high": 100},
    "numpy.real": {"val": whole},
    "numpy.searchsorted": {"a": flat, "v": whole},
    "numpy.trim_zeros": {"filt": flat},
    "numpy.vander": {"x": leading},
    "numpy_extension.random.normal_n": {"loc": 0.0, "scale": 1.0, "batch_shape": whole},
    "numpy_extension.random.uniform_n": {"low": 0.0, "high": 1.0, "batch_shape": whole},
}
"""What a function is given where neither a rule nor the names of its arguments tell it, by its
place in MXNet: functions that want one axis, numbers that stand for a size, parameters of
distributions."""

MADE_SHAPES = ("size", "dimensions", "shape")
"""Arguments that say how large an array a function makes from nothing; the first that it has is
meant. `np.random.gamma` has two, and its `shape` is no array's."""


def snake_case(name: str) -> str:
    """`BatchNorm` as `batch_norm`, `LeakyReLU` as `leaky_relu`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def spellings(framework: Framework, name: str) -> list[str]:
    """The names an operator may have in one namespace or another, the one asked for first:
    the registry's aliases without their prefixes, and names alike but for case."""
    prefixes = [p for _, listed in NAMESPACES.values() for p in listed.split()]
    found = [name]
    for operator in framework.operators():
        bare = {
            alias[len(prefix) :]
            for alias in operator.names
            for prefix in prefixes
            if alias.startswith(prefix)
        } | {alias for alias in operator.names if not alias.startswith("_")}
        folded = {snake_case(word) for word in bare}
        if name in bare or snake_case(name) in folded:
            found.extend(sorted(bare) + sorted(folded))
    return list(dict.fromkeys(found))


def functions_called(framework: Framework, name: str) -> dict[str, Callable[..., Any]]:
    """The function of that operator in each namespace that has one; `linalg.svd` looks in a
    submodule of each.

    Raises `UnknownOperatorError` when none has.
    """
    import mxnet as mx

    *path, last = name.split(".")
    candidates = spellings(framework, last)
    found: dict[str, Callable[..., Any]] = {}
    for namespace, (attribute, _) in NAMESPACES.items():
        module = functools.reduce(
            lambda place, word: getattr(place, word, None), path, getattr(mx, attribute)
        )
        spelled = next((word for word in candidates if callable(getattr(module, word, None))), None)
        if spelled is not None:
            found[namespace] = getattr(module, spelled)
    if not found:
        known = [n for attribute, _ in NAMESPACES.values() for n in dir(getattr(mx, attribute))]
        raise UnknownOperatorError(
            f"none of {', '.join(NAMESPACES)} has {name!r}{suggestion(name, known)}"
        )
    return found


def place_of(target: Target) -> str:
    """Where in MXNet a callable is: `numpy.linalg.svd`; empty for a registered operator."""
    return target.path.partition(".")[2] if isinstance(target, CallableTarget) else ""


def registered(framework: Framework, target: Target, called: Operator) -> Operator | None:
    """The registered operator that a function of MXNet calls or wraps: itself, or the one of
    its name in its namespace, or of a name alike. None for a function that is not MXNet's."""
    if called.namespace or not isinstance(target, CallableTarget):
        return called if called.namespace else None
    if place_of(target) in WRAPPED:
        return framework.resolve(WRAPPED[place_of(target)])
    words = target.path.split(".")
    prefixes = PREFIXES.get(".".join(words[:2]), ())
    submodule = "".join(f"{word}_" for word in words[2:-1])
    needed = len([p for p in called.tensors if p.required])
    for word in spellings(framework, called.name) if prefixes else ():
        for prefix in prefixes:
            own = framework.resolve(prefix + submodule + word) if submodule else None
            if own is not None:
                return own
            operator = framework.resolve(prefix + word)
            if operator is not None and len(operator.tensors) >= needed:
                return operator
    return None


def inputs_of_size(
    framework: Framework,
    function: Callable[..., Any],
    size: Shape,
    additional: Mapping[str, Any],
    dtype: str,
) -> dict[str, Any]:
    """Inputs of a function: its first tensor of this size, the others as they follow from it,
    plain values as the operator's rule has them, and the user's own in place of any of them.
    Tensors of a rule have what fills them, those of no rule are shapes.

    A function without tensors makes one of this size. Where an operator cannot take the size,
    because it wants other axes, its rule's own shapes stand.
    """
    target = framework.target_of(function)
    called = framework.signature(target, function)
    accepted = {parameter.name for parameter in called.parameters}
    given = {name: value for name, value in additional.items() if name in accepted}
    place = place_of(target)
    operator = registered(framework, target, called)
    inputs: dict[str, Any] = {}
    if place in ARGUMENTS:
        inputs = {name: _made(value, size) for name, value in ARGUMENTS[place].items()}
    elif operator is not None:
        inputs = _from_rule(framework, operator, called, size, given, dtype)
    has_rule = bool(inputs)
    for parameter in called.parameters:
        if not parameter.required or parameter.name in inputs:
            continue
        if parameter.name in REQUIRED:
            inputs[parameter.name] = _made(REQUIRED[parameter.name], size)
        elif not has_rule and parameter.kind in (Kind.TENSOR, Kind.TENSORS):
            inputs[parameter.name] = size if parameter.kind is Kind.TENSOR else [size, size]
    arrays = ARRAYS | {parameter.name for parameter in called.tensors}
    if not any(isinstance(inputs.get(name), (tuple, list, TensorSpec)) for name in arrays):
        inputs.update((name, size) for name in [n for n in MADE_SHAPES if n in accepted][:1])
    return inputs | given


def _made(value: Any, size: Shape) -> Any:
    return value(size) if callable(value) else value


def _from_rule(
    framework: Framework,
    operator: Operator,
    called: Operator,
    size: Shape,
    given: Mapping[str, Any],
    dtype: str,
) -> dict[str, Any]:
    """A configuration of the operator's rule, as large as asked, under the names of the function
    called: tensors go by their order, for a wrapper may rename them."""
    rules = rules_module(framework.rules)
    made = inputs_for(operator, rules, PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    sized = inputs_for(operator, rules, _preset(size), dtype)
    assert not isinstance(sized, NoInputs)
    configurations = [inputs.arguments for inputs in made]
    tensors = {n: v for n, v in configurations[0].items() if holds_tensors(v)}
    names = dict(zip(under_own_names(called, tensors), tensors, strict=True))
    theirs = {
        registered_name: _as_argument(parameter.kind, value)
        for registered_name, value in ((names.get(n, n), value) for n, value in given.items())
        if (parameter := operator.parameter(registered_name)) is not None
    }
    fitting = fitted(operator, configurations, [inputs.arguments for inputs in sized], size, theirs)
    return under_own_names(called, fitting)


def _preset(size: Shape) -> Preset:
    """The preset whose matrices are of a size, with the leading axes of one of more in one: what
    a rule makes of rows and columns then goes together at any size."""
    small = PRESETS["small"]
    if len(size) < 2:
        return small
    return dataclasses.replace(small, matrix=(math.prod(size[:-1]), size[-1]))


def _as_argument(kind: Kind, value: Any) -> Argument:
    """A user's value as shape inference takes it: arrays and shapes as tensors."""
    if kind is Kind.TENSORS and isinstance(value, (list, tuple)):
        return tuple(_as_argument(Kind.TENSOR, element) for element in value)  # type: ignore[misc]
    if hasattr(value, "shape"):
        return TensorSpec(tuple(value.shape))
    if kind is Kind.TENSOR and isinstance(value, tuple):
        return TensorSpec(value)
    return value  # type: ignore[no-any-return]


def written(argument: Any) -> Any:
    """The argument as users write it: tensors as shapes."""
    if isinstance(argument, TensorSpec):
        return argument.shape
    if holds_tensors(argument):
        return [element.shape for element in argument if isinstance(element, TensorSpec)]
    return argument
