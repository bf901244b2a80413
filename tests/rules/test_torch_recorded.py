"""Recorded inputs beside those of PyTorch's rules: their order, and that no rule's kind is lost."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import pytest

pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.model import Operator, TensorSpec, iter_tensors  # noqa: E402
from opperf.rules.callables import inputs_for_target  # noqa: E402
from opperf.rules.engine import Inputs  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from opperf.rules.torch.recorded import LABELS, family  # noqa: E402
from opperf.rules.values import Arguments  # noqa: E402

FRAMEWORK = load("torch")

OPERATORS = {one.label: one for one in FRAMEWORK.operators()}

RECORDED = f"rule:{family.__module__.rpartition('.')[2]}.{family.__name__}"

RECORDED_ALONE = frozenset(
    {
        *("_cudnn_rnn", "_cudnn_rnn_backward", "_embedding_bag", "_fft_c2c", "_log_softmax"),
        *("_embedding_bag_per_sample_weights_backward", "_log_softmax_backward_data"),
        *("_softmax", "_softmax_backward_data", "_to_copy", "_unsafe_view"),
        "_sparse_coo_tensor_with_dims_and_tensors",
    }
)
"""Operators without a rule, which public ones call."""

MILLION = 10**6


@functools.cache
def inputs_of(operator: Operator, size: str = "default") -> list[Inputs]:
    """The inputs of an operator; none if it has none."""
    made = inputs_for_target(FRAMEWORK, operator.target, operator, PRESETS[size], "float32")
    return [] if isinstance(made, NoInputs) else made


def test_recorded_inputs_follow_those_of_the_rule_and_repeat_none() -> None:
    with_recorded = 0
    for operator in OPERATORS.values():
        if not LABELS.keys() & set(operator.names):
            continue
        label, made = operator.label, inputs_of(operator)
        recorded = [one.origin == RECORDED for one in made if not one.made.source.derivation]
        assert made and recorded == sorted(recorded), label
        assert not recorded[0] or label.partition(".")[0] in RECORDED_ALONE, label
        arguments = [(one.arguments, one.phase) for one in made]
        assert all(one not in arguments[:place] for place, one in enumerate(arguments)), label
        assert len({one.why for one in made}) == len(made), label
        with_recorded += any(recorded)
    assert with_recorded >= 149
    # Contiguous, as its rule's are.
    assert "threshold_backward.default" in LABELS
    assert all(one.origin != RECORDED for one in inputs_of(OPERATORS["threshold_backward"]))


def test_operators_that_write_to_a_tensor_have_the_inputs_of_those_that_return_it() -> None:
    pairs = [
        (one, other)
        for one in OPERATORS.values()
        if (other := FRAMEWORK.inference.returning(one)) is not None and inputs_of(other)
    ]
    assert len(pairs) > 650
    for one, other in pairs:
        assert inputs_of(one) == inputs_of(other), one.label
    gather = OPERATORS["gather"]
    assert FRAMEWORK.inference.returning(OPERATORS["gather.out"]) == gather
    assert (
        FRAMEWORK.inference.returning(gather)
        is FRAMEWORK.inference.returning(OPERATORS["relu_"])
        is None
    )


def self_of(arguments: Arguments) -> TensorSpec:
    value = arguments["self"]
    assert isinstance(value, TensorSpec)
    return value


def largest(arguments: Arguments) -> int:
    return max(spec.size for value in arguments.values() for spec in iter_tensors(value))


def is_large(arguments: Arguments) -> bool:
    return largest(arguments) >= MILLION


def last_axis(arguments: Arguments) -> bool:
    own, dim = self_of(arguments), arguments["dim"]
    axes = dim if isinstance(dim, tuple) else (dim,)
    return not own.strides and axes in ((-1,), (len(own.shape) - 1,)) and own.size >= MILLION // 2


def broadcasts(arguments: Arguments) -> bool:
    own, other = self_of(arguments), arguments["other"]
    return isinstance(other, TensorSpec) and own.shape != other.shape and other.size > 1


def casts(arguments: Arguments) -> bool:
    return self_of(arguments).dtype != arguments["src"].dtype  # type: ignore[union-attr]


def repeats(arguments: Arguments) -> bool:
    """More indices than there are places."""
    index, dim = arguments["index"], arguments["dim"]
    assert isinstance(index, TensorSpec) and isinstance(dim, int)
    return index.size > self_of(arguments).shape[dim]


def reads_much(arguments: Arguments) -> bool:
    index = arguments["index"]
    assert isinstance(index, TensorSpec)
    width = math.prod(self_of(arguments).shape[1:]) if len(index.shape) == 1 else 1
    return index.size * width >= MILLION


KINDS: dict[str, tuple[Callable[[Arguments], bool], ...]] = {
    **dict.fromkeys(
        (
            *("clamp_min", "eq.Scalar", "ge.Scalar", "gt.Scalar", "lt.Scalar", "ne.Scalar"),
            *("pow.Scalar", "reciprocal", "floor_divide", "triu", "cumsum", "lt.Tensor", "cos"),
        ),
        (is_large,),
    ),
    "cumsum": (is_large, last_axis),
    "sum.dim_IntList": (last_axis,),
    "max.dim": (last_axis,),
    "index_put": (lambda one: not one.get("accumulate"), lambda one: bool(one.get("accumulate"))),
    "index_add": (repeats,),
    "index_select": (reads_much,),
    "gather": (is_large,),
    "add.Tensor": (broadcasts,),
    "copy_": (casts,),
    "sgn": (lambda one: self_of(one).dtype.startswith("complex"),),
    "embedding": (lambda one: one["weight"].shape[0] >= MILLION,),  # type: ignore[union-attr]
}
"""Kinds of work that only rules have, beside the recorded inputs, by operator."""


def test_each_kind_of_work_has_a_case() -> None:
    for label, kinds in KINDS.items():
        dense = [one.arguments for one in inputs_of(OPERATORS[label]) if one.is_dense]
        for place, kind in enumerate(kinds):
            assert any(map(kind, dense)), f"{label}: no case of kind {place}"
    # A cache of keys that is written at one token.
    writes = [one.arguments for one in inputs_of(OPERATORS["index_put"])]
    assert any(None in one["indices"] and not one.get("accumulate") for one in writes)  # type: ignore[operator]
