"""Families of derivatives of PyTorch's losses, and of libraries' own losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from opperf.model import Argument, Kind, Operator, TensorSpec
from opperf.operations import OPERATIONS as CANONICAL
from opperf.operations.uses import ANYTHING, Roles, Table, Use, Values, Words, of_ranks, use
from opperf.rules.configurations import inputs_of, notes_of
from opperf.rules.deviations import NotFinite
from opperf.rules.families import FAMILIES as SHARED
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import ONES, Arguments, fixed, odds, tensor

REDUCTIONS = ("none", "mean", "sum")
"""Reductions by PyTorch's number."""
DEFAULT = 1
"""PyTorch's default, the mean."""

OPTIONS: Arguments = {"ignore_index": -100, "p": 1, "beta": 1.0, "delta": 1.0, "margin": 1.0}
"""The defaults of a loss's options, which the operators behind it require."""


def loss(operation: str, text: str) -> Use:
    """The use of a loss, whose reduction PyTorch has a number for; other arguments by `Words`."""
    words = Words(text, {})

    def to_roles(reduction: int = DEFAULT, **arguments: Any) -> dict[str, Any]:
        return {**words.to_roles(**arguments), "reduction": REDUCTIONS[reduction]}

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        others = {role: value for role, value in roles.items() if role != "reduction"}
        named = words.to_arguments(operator, others)
        if named is None:
            return None
        required = {parameter.name for parameter in operator.parameters if parameter.required}
        made = {name: value for name, value in OPTIONS.items() if name in required} | named
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
TO_SAMPLES, TO_PIXELS = of_ranks(LIKELIHOOD, data=2), of_ranks(LIKELIHOOD, data=4)
TAGS = loss("multilabel_margin_loss", "data=self label=target")

OPERATIONS: Table = {
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
    "nll_loss": TO_SAMPLES,
    "nll_loss2d": TO_PIXELS,
    "nll_loss2d_forward": with_saved(TO_PIXELS),
    "nll_loss_forward": with_saved(TO_SAMPLES),
    "nll_loss_nd": LIKELIHOOD,
    "poisson_nll_loss": loss("poisson_loss", "x=input y=target is_log=log_input full epsilon=eps"),
    "smooth_l1_loss": loss("smooth_l1_loss", f"{PAIR} beta"),
    "soft_margin_loss": loss("soft_margin_loss", PAIR),
    "triplet_margin_loss": loss(
        "triplet_margin_loss", "anchor positive negative margin order=p epsilon=eps swap"
    ),
}

FAMILIES = Families()

NOT_FINITE = {"_ctc_loss": NotFinite("impossible alignments' log-probabilities are infinite")}


def of_forward(operator: Operator, forward: str, size: Preset) -> Iterable[Arguments]:
    """The configurations of a loss, with the arguments that its derivative has too."""
    entry = OPERATIONS[forward]
    assert isinstance(entry, Use)
    for roles in SHARED.by_operation[entry.operation](CANONICAL[entry.operation], size):
        arguments = entry.to_arguments(operator, inputs_of(roles))
        if arguments is not None:
            yield {**arguments, **notes_of(roles)}


Saved = Callable[[TensorSpec], TensorSpec]
"""Makes a result of the forward call, which the derivative takes, from the scores' tensor."""

RIGHT = 4
"""Right classes of a sample, on average: as many as `TAGS` has, some of them twice."""

WEIGHT: Mapping[str, Saved] = {"total_weight": lambda data: fixed(fill=ONES)}
"""The sum of the weights that the mean was divided by."""

DERIVATIVES: Mapping[str, tuple[str, Mapping[str, Saved]]] = {
    "binary_cross_entropy_backward": ("binary_cross_entropy", {}),
    "huber_loss_backward": ("huber_loss", {}),
    "mse_loss_backward": ("mse_loss", {}),
    "multi_margin_loss_backward": ("multi_margin_loss", {}),
    "multilabel_margin_loss_backward": (
        "multilabel_margin_loss",
        {"is_target": lambda data: fixed(*data.shape, fill=odds(data.shape[-1] - RIGHT, RIGHT))},
    ),
    "nll_loss2d_backward": ("nll_loss2d", WEIGHT),
    "nll_loss_backward": ("nll_loss", WEIGHT),
    "smooth_l1_loss_backward": ("smooth_l1_loss", {}),
    "soft_margin_loss_backward": ("soft_margin_loss", {}),
}
"""The loss of each derivative, and what it takes of the forward call's results."""

OF_SAMPLES = ("multi_margin_loss_backward", "multilabel_margin_loss_backward")
"""Derivatives of losses that each sample has one of."""


@FAMILIES.add(*DERIVATIVES)
def derivative(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A loss's configurations, with the gradient of its mean or of each loss."""
    forward, saved = entry_of(DERIVATIVES, operator)
    for made in of_forward(operator, forward, size):
        data, target = made["self"], made["target"]
        assert isinstance(data, TensorSpec) and isinstance(target, TensorSpec)
        made.setdefault("reduction", DEFAULT)
        # Losses that are not reduced: of the right classes or samples, or the predictions'.
        labelled = target.dtype == "int64" and len(target.shape) < len(data.shape)
        shape = target.shape if labelled else data.shape
        if made["reduction"] == DEFAULT:
            shape = ()
        elif operator.name in OF_SAMPLES:
            shape = data.shape[:1]
        results = {name: make(data) for name, make in saved.items()}
        yield {"grad_output": tensor(*shape), **made, **results}


GPU: Arguments = {"blank": 0, "deterministic": True, "zero_infinity": False}
INTERNAL_CTC: Mapping[str, Arguments] = {
    "_ctc_loss": {},
    **dict.fromkeys(("miopen_ctc_loss", "_cudnn_ctc_loss"), GPU),
    **dict.fromkeys(("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"), {"blank": 0}),
}
"""Operators with the inputs of `ctc_loss`, each with the options that it requires."""


@FAMILIES.add(*INTERNAL_CTC)
def internal_ctc(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The sequences of the public loss, which chooses one of these."""
    lengths = operator.parameter("input_lengths")
    takes_tensors = lengths is not None and lengths.kind is Kind.TENSOR
    for made in of_forward(operator, f"ctc_loss.{'Tensor' if takes_tensors else 'IntList'}", size):
        if "reduction" not in made:
            yield {**made, **entry_of(INTERNAL_CTC, operator)}
