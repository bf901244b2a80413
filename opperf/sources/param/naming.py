"""Targets of the operators of a configuration by their names, and FBGEMM's tables of embeddings."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from opperf.errors import UsageError, suggest
from opperf.frameworks import available, objects_of
from opperf.model import (
    Argument,
    CallableTarget,
    Fill,
    ObjectTarget,
    OperatorTarget,
    Target,
    TensorSpec,
)
from opperf.plurals import pluralize
from opperf.rules.values import below
from opperf.sources.param.arguments import values_of
from opperf.sources.param.macros import expand_spec
from opperf.sources.param.registering import DATA_GENERATORS, ITERATORS, Arguments, own_operators
from opperf.sources.param.schema import Raw, Spec, convert

OPERATOR = "SplitTableBatchedEmbeddingBagsCodegen"

OF_BUILD = (0, 1, 2, 4, 5)
"""Positions of the build's arguments that inputs depend on: tables, rows, columns, whether samples
have weights, precision."""

GIVEN = 2
"""Arguments of an input: the batch size, and the number of indices that are pooled."""


def with_build(specs: Sequence[Raw], build: Spec | None, place: str) -> Iterable[tuple[str, Spec]]:
    """Yields inputs with what they need of the build. Raises `UsageError`; one that is of a single
    input is raised for it alone by `specs_of`."""
    if build is None or len(build.args) <= OF_BUILD[-1]:
        raise UsageError(f"{place}: the `build` has at least {OF_BUILD[-1] + 1} `args`")
    tables, rows, columns, weighted, precision = (build.args[i] for i in OF_BUILD)
    for i, raw in enumerate(specs):
        here = f"{place}[{i}]"
        for number, made in enumerate(expand_spec(convert(raw, Spec, here), here)):
            if len(made.args) != GIVEN:
                raise UsageError(f"{here}.args: expected the batch size and the pooling factor")
            args = [tables, rows, columns, *made.args, weighted, precision]
            yield f"{i}_{number}", Spec(args=args)


def indices(spec: Spec, place: str) -> Arguments:
    """Returns indices of all tables, the offsets of their bags, and weights of the indices or None.

    All indices are rows of the smallest table, as they are of one tensor. Raises `UsageError`.
    """
    unnamed, _ = values_of(spec, place)
    if len(unnamed) != len(OF_BUILD) + GIVEN:
        raise UsageError(f"{place}: expected args that the iterator of {OPERATOR} makes")
    tables, rows, _, batch, pooling, weighted, _ = unnamed
    if not isinstance(tables, int) or not isinstance(batch, int):
        raise UsageError(f"{place}: the numbers of tables and of samples are integers")
    pooled = _each(pooling, tables, f"{place}: pooling factors")
    lengths = [length for length in pooled for _ in range(batch)]
    offsets = [0, *accumulate(lengths)]
    count = offsets[-1]
    return [
        TensorSpec((count,), "int64", below(min(_each(rows, tables, f"{place}: rows")))),
        TensorSpec((len(offsets),), "int64", Fill("literal", data=offsets)),
        TensorSpec((count,)) if weighted else None,
    ], {}


def _each(value: Any, count: int, what: str) -> list[int]:
    """Returns a number of each table. Raises `UsageError`."""
    found = list(value) if isinstance(value, tuple) else [value] * count
    if len(found) != count or not all(isinstance(number, int) and number > 0 for number in found):
        tables = pluralize(count, "table")
        raise UsageError(f"{what} are a positive integer, or one for each of {tables}")
    return found


ITERATORS.add(f"{OPERATOR}InputIterator", with_build)
DATA_GENERATORS.add(f"{OPERATOR}InputDataGenerator", indices)


TORCH = "torch"

SCHEMA = re.compile(r"(?P<operator>\w+::\w+)(?:\.(?P<overload>\w+))?(?:\s*\(.*)?", re.DOTALL)
"""`aten::add.Tensor(Tensor self, ...) -> Tensor`, or only the name and the overload."""

DISPATCHED = re.compile(r"\w+::\w+")
"""`aten::add`: an operator of PyTorch's dispatcher."""

OWN = "aten::"
"""Namespace that opperf's names of PyTorch's operators omit."""

MODEL = re.compile(r"pytorch(?:\.model\.|:)(?P<name>\w+)")
"""`pytorch.model.resnet`, and the older `pytorch:alex_net`."""

MODELS = {"resnet": "resnet50", "alex_net": "alexnet"}
"""torchvision's names of PARAM's models, where they are others."""

EMBEDDINGS = (OPERATOR, f"{OPERATOR}Op")
"""PARAM's names of FBGEMM's tables of embeddings."""

EXAMPLES = ("torch.add", "torch.nn.Linear", "aten::add", "pytorch.model.resnet")
"""Names of each kind, for messages."""

Build = Mapping[str, Argument]
"""Arguments that an operator is built with, positional ones under their positions."""


def target_of(name: str, build: Build | None, place: str) -> Target:
    """Returns the target of an operator's name. `build` are the arguments of its build; None if the
    configuration has none. Raises `UsageError` for a name that can be no operator's."""
    own = own_operators(available())
    if name in own:
        framework, path = own[name]
        return _built_or_called(framework, path, build)
    if name in EMBEDDINGS:
        place_of_class = objects_of(TORCH)[OPERATOR]
        return ObjectTarget(TORCH, place_of_class, dict(build or {}))
    if DISPATCHED.fullmatch(name):
        return _dispatched(name, build, place)
    if model := MODEL.fullmatch(name):
        path = f"torchvision.models.{MODELS.get(model['name'], model['name'])}"
        return ObjectTarget(TORCH, path, dict(build or {}))
    first = name.partition(".")[0]
    if first in available() and "." in name:
        return _built_or_called(first, name, build)
    if "." in name and _is_installed(first):
        # A layer of any other package.
        return ObjectTarget(TORCH, name, dict(build or {}))
    near = [*own, *EMBEDDINGS, *EXAMPLES, *(f"{framework}." for framework in available())]
    raise UsageError(
        f"{place}: unknown operator {name!r}{suggest(name, near)}; a name is as "
        f"{', '.join(EXAMPLES)}, or one that is registered"
    )


def _is_installed(package: str) -> bool:
    """Whether a package or module can be imported. A folder without code is none."""
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    return spec is not None and spec.origin is not None


def _built_or_called(framework: str, path: str, build: Build | None) -> Target:
    """Returns the target at a path: an object if it is built, else the callable itself."""
    if build is None:
        return CallableTarget(framework, path)
    return ObjectTarget(framework, path, dict(build))


def _dispatched(name: str, build: Build | None, place: str) -> Target:
    """Returns an operator of PyTorch's dispatcher, the overload of the schema in its build. Raises
    `UsageError`."""
    given: Sequence[Argument] = list((build or {}).values())
    match given:
        case []:
            return OperatorTarget(TORCH, name.removeprefix(OWN))
        case [str() as text] if schema := SCHEMA.fullmatch(text.strip()):
            if schema["operator"] != name:
                raise UsageError(f"{place}: the schema in `build` is that of {schema['operator']}")
            # The dispatcher calls an overload without a name so.
            overload = schema["overload"] or "default"
            return OperatorTarget(TORCH, name.removeprefix(OWN), overload)
    raise UsageError(
        f"{place}: `build` of {name} takes one str, its schema: "
        '"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"'
    )
