"""Contents of tensors of which only shape and dtype are known: of recorded calls and of layers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from opperf.dtypes import is_floating, is_integer
from opperf.frameworks import Framework
from opperf.model import Argument, Fill, ObjectTarget, Operator, TensorSpec, iter_tensors
from opperf.rules.bounds import places
from opperf.rules.callables import bounds_of, inputs_for_target
from opperf.rules.dependencies import ARRANGED, Asked, Rule, Unfit, along, ascending, rules_of
from opperf.rules.engine import rules_module
from opperf.rules.ranges import NARROW, Shape
from opperf.rules.sizes import PRESETS
from opperf.rules.values import BELOW, BOOLEAN, Arguments, below

ROWS = ("simplex", "positive_definite", "invertible", "lower_triangular", "upper_triangular")
"""Fills of whole rows or matrices, which only contiguous tensors have."""

PLAIN = ("boolean", "signs", "odds", "constant")
"""Fills of integers that index nothing and ask nothing of a tensor's shape."""

INDICES = frozenset({"index", "indices"})
"""Arguments that index another, whatever the operator."""

INDEX_DTYPES = frozenset({"int32", "int64"})


class Contents(NamedTuple):
    """Arguments with contents."""

    arguments: Arguments
    missed: tuple[str, ...] = ()
    """Names of those with which the call need not return what it was seen to return."""


def as_by_rule(
    framework: Framework, operator: Operator, arguments: Arguments, returned: tuple[Shape, ...] = ()
) -> Contents:
    """Returns an operator's arguments with contents in each tensor without a fill.

    The first of these that is known: contents with which the call returns tensors of the shapes
    `returned`, where these depend on contents; those that the other arguments decide, which also
    replace integers of a recorded range; those of the operator's own rule; indices by the
    argument's name.
    """
    rules = rules_module(framework.rules)
    table = rules_of(operator, rules.CONTENTS)
    results = rules_of(operator, rules.RESULTS) if returned else {}
    missed: list[str] = []

    def fill(name: str, place: str, position: int, value: Argument) -> Argument:
        if isinstance(value, tuple):
            listed = enumerate(value)
            return tuple(fill(name, f"{place}.{i}", i, one) for i, one in listed)  # type: ignore[misc]
        if not isinstance(value, TensorSpec):
            return value
        asked = Asked(arguments, value, position, returned)
        if name in results and value.fill.distribution in REPLACED:
            made = _made(results[name], asked)
            if made is not None:
                return _with(value, made, arguments)
            missed.append(name)
        made = _made(table[name], asked) if name in table else None
        if value.fill == Fill():
            return _with(value, made or _of_rule(framework, operator, place, asked), arguments)
        is_decided = made is not None and made.distribution in ARRANGED
        if made is not None and is_decided and value.fill.distribution == "integers":
            return _with(value, made, arguments)
        return value

    found = {name: fill(name, name, 0, value) for name, value in arguments.items()}
    return Contents(found, tuple(dict.fromkeys(missed)))


def decided(
    framework: Framework, operator: Operator, arguments: Arguments, kept: Collection[str] = ()
) -> Arguments:
    """Returns arguments with the integers that others decide, as lengths; not those `kept`."""
    table = rules_of(operator, rules_module(framework.rules).CONTENTS)

    def fill(name: str, value: Argument) -> Argument:
        if name in kept or name not in table or not isinstance(value, TensorSpec):
            return value
        made = _made(table[name], Asked(arguments, value))
        is_drawn = made is None or made.distribution not in ARRANGED
        return value if made is None or is_drawn else _with(value, made, arguments)

    return {name: fill(name, value) for name, value in arguments.items()}


REPLACED = ("normal", "integers")
"""Distributions of tensors of which nothing is known, or a recorded range."""


def _made(rule: Rule, asked: Asked) -> Fill | None:
    """Returns what a rule has for a tensor; None where the call lacks what the rule needs."""
    try:
        return rule(asked) if asked.spec.size else None
    except Unfit:
        return None


def _with(spec: TensorSpec, fill: Fill, arguments: Arguments) -> TensorSpec:
    """Returns a tensor with a fill; with one that is arranged, in elements of its own."""
    if fill.distribution not in ARRANGED or not spec.is_view:
        return msgspec.structs.replace(spec, fill=fill)
    held = [tensor.storage for value in arguments.values() for tensor in iter_tensors(value)]
    storage = spec.storage if held.count(spec.storage) == 1 else ""
    return msgspec.structs.replace(spec, fill=fill, strides=(), offset=0, storage=storage)


def _of_rule(framework: Framework, operator: Operator, place: str, asked: Asked) -> Fill:
    """Returns the contents that an operator's rule has at a place; else by the argument's name."""
    # A protocol has no hash that mypy knows of.
    made: Any = framework
    name, spec = place.partition(".")[0], asked.spec
    known = sorted(_fills(made, operator).get(name, ()), key=lambda one: one.dtype != spec.dtype)
    if spec.dtype == "bool":
        return BOOLEAN
    # Some frameworks have indices in single precision.
    drawn = [tensor.fill for tensor in known if tensor.fill.distribution in BELOW]
    if not is_integer(spec.dtype) and (not drawn or len(drawn) < len(known)):
        return _real_fill(spec, known)
    if spec.size == 1:
        # A number of its own, as a seed or the beginning of a slice.
        single = [
            tensor for tensor in known if tensor.size == 1 and tensor.fill.distribution == "literal"
        ]
        if single:
            return single[0].fill if single[0].shape == spec.shape else Fill()
    if spec.dtype not in NARROW:
        # It is found by the rule's inputs at several sizes, which takes a tenth of a second.
        limit = bounds_of(framework, operator.target, operator).limit(place, asked.arguments)
        if limit is not None:
            low = int(min((fill.low for fill in drawn), default=0))
            return below(max(low + 1, limit), start=low)
    usual = [
        tensor.fill
        for tensor in known
        if tensor.fill.distribution in PLAIN and is_integer(tensor.dtype)
    ]
    # Where a call lacks what bounds its indices, the rule's own are of another table.
    found = [] if name in INDICES else [*drawn, *usual]
    return found[0] if found else _by_name(name, asked)


def _real_fill(spec: TensorSpec, known: Sequence[TensorSpec]) -> Fill:
    """Returns the fill that a rule has in all its tensors for an argument."""
    if not known or not all(is_floating(tensor.dtype) for tensor in known):
        return Fill()
    fill = known[0].fill
    is_own = fill.data is None and not fill.of and not (spec.strides and fill.distribution in ROWS)
    return fill if is_own and all(tensor.fill == fill for tensor in known) else Fill()


def _by_name(name: str, asked: Asked) -> Fill:
    """Returns indices along the call's axis, else along the shortest one of its largest tensor."""
    if name not in INDICES or asked.spec.dtype not in INDEX_DTYPES:
        return Fill()
    made = _made(along("self"), asked)
    if made is not None:
        return made
    found = [spec for value in asked.arguments.values() for spec in iter_tensors(value)]
    return below(max(1, min(max(found, key=lambda one: one.size).shape, default=1)))


@functools.cache
def _fills(framework: Any, operator: Operator) -> Mapping[str, Sequence[TensorSpec]]:
    """Returns the tensors that an operator's rule has for each argument."""
    made = inputs_for_target(framework, operator.target, operator, PRESETS["small"], "float32")
    found: dict[str, list[TensorSpec]] = {}
    for inputs in made if isinstance(made, list) else ():
        for place, spec in places(inputs.arguments):
            if spec.layout == "dense":
                found.setdefault(place.partition(".")[0], []).append(spec)
    return found


def _of_build(place: int, name: str) -> Callable[[Arguments, Arguments], int]:
    """Returns a function of an argument of the build."""

    def limit(build: Arguments, inputs: Arguments) -> int:
        value = build.get(str(place), build.get(name))
        return value if isinstance(value, int) else 1

    return limit


def _classes(build: Arguments, inputs: Arguments) -> int:
    """Returns the number of classes that a loss's first input has scores of."""
    scores = inputs.get("0", inputs.get("input"))
    if not isinstance(scores, TensorSpec) or not scores.shape:
        return 1
    return scores.shape[min(1, len(scores.shape) - 1)]


LIMITS: Mapping[str, Callable[[Arguments, Arguments], int]] = {
    "torch.nn.Embedding": _of_build(0, "num_embeddings"),
    "torch.nn.EmbeddingBag": _of_build(0, "num_embeddings"),
    "gluon.nn.Embedding": _of_build(0, "input_dim"),
    "torch.nn.CrossEntropyLoss": _classes,
    "torch.nn.NLLLoss": _classes,
    "torch.nn.MultiMarginLoss": _classes,
}
"""The limit of the integers that a layer takes, by the end of its path."""

OFFSETS = ("1", "offsets")
"""The input of `EmbeddingBag` that says where bags begin, in order."""


def _bags(build: Arguments, inputs: Arguments, count: int) -> Fill:
    """Returns where so many bags begin, which have as many indices each."""
    indices = inputs.get("0", inputs.get("input"))
    whole = indices.size if isinstance(indices, TensorSpec) else count
    if build.get("include_last_offset"):
        return ascending(0, whole)
    return Fill("sequence") if whole == count else ascending(0, (count - 1) * whole // count)


Known = TypeVar("Known")


def known_of(table: Mapping[str, Known], path: str) -> Known | None:
    """Returns what a table by the ends of paths has for a path; None if it has nothing."""
    return next((table[end] for end in table if f".{path}".endswith(f".{end}")), None)


def layer_contents(target: ObjectTarget, arguments: Arguments) -> Arguments:
    """Returns a layer's inputs with contents that suit it in integers without a fill."""
    limit = None if target.file else known_of(LIMITS, target.path)
    if limit is None:
        return arguments
    size = max(1, limit(target.arguments, arguments))

    def change(name: str, value: Argument) -> Argument:
        if not isinstance(value, TensorSpec) or value.fill != Fill() or not is_integer(value.dtype):
            return value
        is_offsets = target.path.endswith("EmbeddingBag") and name in OFFSETS
        fill = _bags(target.arguments, arguments, value.size) if is_offsets else below(size)
        return msgspec.structs.replace(value, fill=fill)

    return {name: change(name, value) for name, value in arguments.items()}
