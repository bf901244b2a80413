"""Targets of the operators of a configuration, by their names."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence

from opperf.errors import UsageError, suggest
from opperf.frameworks import available, objects_of
from opperf.model import Argument, CallableTarget, ObjectTarget, OperatorTarget, Target
from opperf.sources.param import embedding_tables
from opperf.sources.param.registering import own_operators

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

EMBEDDINGS = (embedding_tables.OPERATOR, f"{embedding_tables.OPERATOR}Op")
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
        place_of_class = objects_of(TORCH)[embedding_tables.OPERATOR]
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
