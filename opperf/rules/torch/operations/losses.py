"""PyTorch's losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Roles, Table, Use, Values, Words, of_ranks, use

REDUCTIONS = ("none", "mean", "sum")
"""Reductions by PyTorch's number."""
DEFAULT = 1
"""PyTorch's default, the mean."""


OPTIONS: dict[str, Argument] = {
    "ignore_index": -100,
    "delta": 1.0,
    "beta": 1.0,
    "p": 1,
    "margin": 1.0,
}
"""The defaults of a loss's options, which the operators behind it require."""


def required_options(operator: Operator) -> dict[str, Argument]:
    """Returns the defaults of the options that an operator requires."""
    return {
        one.name: OPTIONS[one.name]
        for one in operator.parameters
        if one.required and one.name in OPTIONS
    }


def loss(operation: str, text: str) -> Use:
    """The use of a loss, whose reduction PyTorch has a number for, and other arguments by
    `Words`."""
    words = Words(text, {})

    def to_roles(reduction: int = DEFAULT, **arguments: Any) -> dict[str, Any]:
        return {**words.to_roles(**arguments), "reduction": REDUCTIONS[reduction]}

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        others = {role: value for role, value in roles.items() if role != "reduction"}
        named = words.to_arguments(operator, others)
        if named is None:
            return None
        made = {**required_options(operator), **named}
        number = REDUCTIONS.index(str(roles["reduction"]))
        declared = operator.parameter("reduction")
        if declared is None or (number == DEFAULT and not declared.required):
            return made
        return {**made, "reduction": number}

    return use(operation, to_roles, to_arguments=to_arguments)


LENGTHS = ("input_lengths", "target_lengths")


def with_lists_of_lengths(entry: Use) -> Use:
    """The use with the lengths of sequences as lists in place of tensors."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = entry.to_arguments(operator, roles)
        assert made is not None
        for name in LENGTHS:
            spec = made[name]
            assert isinstance(spec, TensorSpec)
            made[name] = tuple(spec.fill.data)
        return made

    return replace(entry, to_arguments=to_arguments)


def with_saved(entry: Use) -> Use:
    """The use of an operator that also returns what its derivative needs."""

    def apply(function: Any, arguments: Values) -> Any:
        return entry.apply(function, arguments), ANYTHING

    return replace(entry, apply=apply)


CTC = loss(
    "ctc_loss_of_log_probabilities",
    "log_probabilities=log_probs label=targets steps=input_lengths lengths=target_lengths "
    "-blank -zero_infinity",
)
PAIR = "x=self y=target"
LABELLED = "data=self label=target weight ignored=ignore_index"
LIKELIHOOD = loss("negative_log_likelihood", LABELLED)
OF_SAMPLES, OF_PIXELS = of_ranks(LIKELIHOOD, data=2), of_ranks(LIKELIHOOD, data=4)
TAGS = loss("multilabel_margin_loss", "data=self label=target")

TABLE: Table = {
    "binary_cross_entropy": loss("binary_cross_entropy", f"{PAIR} weight"),
    "binary_cross_entropy_with_logits": loss(
        "binary_cross_entropy_of_logits", f"{PAIR} weight positive_weight=pos_weight"
    ),
    "cosine_embedding_loss": loss("cosine_embedding_loss", "x=input1 y=input2 sign=target margin"),
    "cross_entropy_loss": loss("cross_entropy", f"{LABELLED} smoothing=label_smoothing"),
    "ctc_loss.IntList": with_lists_of_lengths(CTC),
    "ctc_loss.Tensor": CTC,
    "hinge_embedding_loss": loss("hinge_embedding_loss", f"{PAIR} margin"),
    "huber_loss": loss("huber_loss", f"{PAIR} delta"),
    "kl_div": loss("kl_divergence", f"{PAIR} is_log=log_target"),
    "l1_loss": loss("absolute_error_loss", PAIR),
    "margin_ranking_loss": loss("margin_ranking_loss", "x=input1 y=input2 order=target margin"),
    "mse_loss": loss("squared_error_loss", PAIR),
    "multi_margin_loss": loss("multi_margin_loss", "data=self label=target power=p margin weight"),
    "multilabel_margin_loss": TAGS,
    "multilabel_margin_loss_forward": with_saved(TAGS),
    "nll_loss": OF_SAMPLES,
    "nll_loss2d": OF_PIXELS,
    "nll_loss2d_forward": with_saved(OF_PIXELS),
    "nll_loss_forward": with_saved(OF_SAMPLES),
    "nll_loss_nd": LIKELIHOOD,
    "poisson_nll_loss": loss("poisson_loss", "x=input y=target is_log=log_input full epsilon=eps"),
    "smooth_l1_loss": loss("smooth_l1_loss", f"{PAIR} beta"),
    "soft_margin_loss": loss("soft_margin_loss", PAIR),
    "triplet_margin_loss": loss(
        "triplet_margin_loss",
        "anchor positive negative margin order=p epsilon=eps swap",
    ),
}
