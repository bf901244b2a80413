"""Families of derivatives of PyTorch's losses, and of libraries' own losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opperf.model import Kind, Operator, TensorSpec
from opperf.operations import OPERATIONS
from opperf.operations.uses import Use
from opperf.rules.configurations import inputs_of, notes_of
from opperf.rules.families import FAMILIES as SHARED
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.losses import DEFAULT, TABLE
from opperf.rules.values import ONES, Arguments, fixed, odds, tensor

FAMILIES = Families()


def of_forward(operator: Operator, forward: str, size: Preset) -> Iterable[Arguments]:
    """The configurations of a loss, with the arguments that its derivative has too."""
    entry = TABLE[forward]
    assert isinstance(entry, Use)
    family = SHARED.by_operation[entry.operation]
    for roles in family(OPERATIONS[entry.operation], size):
        arguments = entry.to_arguments(operator, inputs_of(roles))
        if arguments is not None:
            yield {**arguments, **notes_of(roles)}


def element_losses(data: TensorSpec, target: TensorSpec) -> tuple[int, ...]:
    """The shape of losses that are not reduced: the right classes', or the predictions'."""
    labelled = target.dtype == "int64" and len(target.shape) < len(data.shape)
    return target.shape if labelled else data.shape


def losses_of_samples(data: TensorSpec, target: TensorSpec) -> tuple[int, ...]:
    """The shape of losses, one of each sample."""
    return data.shape[:1]


Saved = Callable[[TensorSpec], TensorSpec]
"""Makes a result of the forward call, which the derivative takes, from the scores' tensor."""


def total_weight(data: TensorSpec) -> TensorSpec:
    """The sum of the weights that the mean was divided by."""
    return fixed(fill=ONES)


RIGHT = 4
"""Right classes of a sample, on average."""


def is_target(data: TensorSpec) -> TensorSpec:
    """Which classes are among the right ones: as many as `TAGS` has, some of them twice."""
    return fixed(*data.shape, fill=odds(data.shape[-1] - RIGHT, RIGHT))


DERIVATIVES: Mapping[str, tuple[str, Mapping[str, Saved]]] = {
    "binary_cross_entropy_backward": ("binary_cross_entropy", {}),
    "huber_loss_backward": ("huber_loss", {}),
    "mse_loss_backward": ("mse_loss", {}),
    "multi_margin_loss_backward": ("multi_margin_loss", {}),
    "multilabel_margin_loss_backward": ("multilabel_margin_loss", {"is_target": is_target}),
    "nll_loss2d_backward": ("nll_loss2d", {"total_weight": total_weight}),
    "nll_loss_backward": ("nll_loss", {"total_weight": total_weight}),
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
        shape_of = losses_of_samples if operator.name in OF_SAMPLES else element_losses
        shape = () if made["reduction"] == DEFAULT else shape_of(data, target)
        yield {
            "grad_output": tensor(*shape),
            **made,
            **{name: make(data) for name, make in saved.items()},
        }


INTERNAL_CTC: Mapping[str, Arguments] = {
    "miopen_ctc_loss": {"blank": 0, "deterministic": True, "zero_infinity": False},
    "_cudnn_ctc_loss": {"blank": 0, "deterministic": True, "zero_infinity": False},
    "_ctc_loss": {},
    "_use_cudnn_ctc_loss": {"blank": 0},
    "_use_miopen_ctc_loss": {"blank": 0},
}
"""Operators with the inputs of `ctc_loss`, each with the options that it requires."""


@FAMILIES.add(*INTERNAL_CTC)
def internal_ctc(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The sequences of the public loss, which chooses one of these."""
    lengths = operator.parameter("input_lengths")
    takes_tensors = lengths is not None and lengths.kind is Kind.TENSOR
    forward = f"ctc_loss.{'Tensor' if takes_tensors else 'IntList'}"
    for made in of_forward(operator, forward, size):
        if "reduction" not in made:
            yield {**made, **entry_of(INTERNAL_CTC, operator)}
