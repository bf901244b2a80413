"""Formulas of layers: normalisation, pooling, interpolation, losses, recurrence, transforms."""

from __future__ import annotations

import math

from opperf.operations.work.matrices import SOFTMAX_FLOPS
from opperf.operations.work.sizes import (
    COPY,
    ELEMENTWISE,
    REDUCTION,
    Count,
    Formula,
    Sizes,
    as_forward,
    by_factor,
    by_gradient,
    listed,
    log2,
    nothing,
    per_element,
    per_result,
    times,
)

SOFTMAX = Formula(lambda call: SOFTMAX_FLOPS * call.result, times(4))
"""Backward: the product with the gradient, its sum, a difference and a product."""

NORM_FLOPS, NORM_BACKWARD_FLOPS = 7, 10
"""The sum; a difference, its square and the sum; the quotient; scale and shift. Backward: the
quotient again (2), the scale, two sums and a product for one, and what they make (4)."""

NORM = Formula(per_element("data", NORM_FLOPS), times(NORM_BACKWARD_FLOPS))


def _recurrent(call: Sizes) -> float:
    """Products of each step with each matrix, and the biases. Unknown of layers that also project
    their states."""
    lengths = call.get("lengths")
    steps = math.prod(call.shape("data")[:2]) if lengths is None else int(lengths.sum())
    weights, biases = call.get("weights", ()), call.get("biases", ())
    if any(array.ndim != 2 for array in weights) or any(array.ndim != 1 for array in biases):
        return math.nan
    return float(steps * sum(2 * a.size for a in weights) + steps * sum(b.size for b in biases))


def _window(call: Sizes) -> float:
    return float(call.result * math.prod(listed(call.get("kernel"))))


def _whole_window(call: Sizes) -> float:
    """A kernel of one number is as long along all axes."""
    kernel = listed(call.get("kernel"))
    sides = len(call.shape("data")) - 2
    return float(call.result * math.prod(kernel * sides if len(kernel) == 1 else kernel))


def _taps(each: int) -> Count:
    """A product and a sum for each neighbour that an element is interpolated of."""

    def counted(call: Sizes) -> float:
        role = "gradient" if call.get("data") is None else "data"
        count = call.size(role) if role == "gradient" else call.result
        return float(2 * each ** (len(call.shape(role)) - 2) * count)

    return counted


def _grid_sample(call: Sizes) -> float:
    kind = str(call.get("kind"))
    return 0.0 if kind == "nearest" else _taps(4 if "cubic" in kind else 2)(call)


def _steps(call: Sizes) -> float:
    """A new value of the weight and of each state: of all arrays but the gradient."""
    whole = sum(call.made)
    return float(whole * max(1, round(sum(call.read) / max(1, whole)) - 1))


def _bags_bytes(call: Sizes) -> float:
    """The rows that are read, in place of the whole table."""
    table, rows = call.bytes("weight"), call.shape("weight")[0]
    return call.moved - max(0, table - call.size("data") * table // rows)


def loss(share: float, role: str = "x") -> Formula:
    """Operations of each element, and its part of the sum over all."""

    def counted(call: Sizes) -> float:
        return call.size(role) * (share + bool(call.get("reduction") != "none"))

    return Formula(counted, lambda call, forward: float(call.size(role) * call.differentiated))


def _of_classes(share: float) -> Formula:
    """Softmax, and operations for each label. Backward: probabilities less labels, scaled."""
    return Formula(
        lambda call: SOFTMAX_FLOPS * call.size("data") + share * call.size("label"),
        lambda call, forward: 2.0 * call.size("data"),
    )


def _alignments(role: str) -> Formula:
    """Three terms for each state of each step: one at each label and between them. Backward: the
    same from the end, and a product, a quotient and a sum for each."""
    return Formula(
        lambda call: 3.0 * math.prod(call.shape(role)[:2]) * (2 * call.shape("label")[-1] + 1),
        lambda call, forward: 2 * forward,
    )


def fourier(share: float, made: bool = False) -> Formula:
    """5 n log2 n for each transform of n elements, half of it if one side is real, by the side
    that is: `made` if it is the result."""

    def counted(call: Sizes) -> float:
        x = call.size("x")
        whole = call.result if made else max(x, call.result if share > 2.5 else x)
        n = call.along("x", call.get("axes")) * whole / max(1, x)
        return share * whole * log2(n)

    return Formula(counted, as_forward)


def _frames(call: Sizes) -> float:
    """The window's product and a real transform of each frame."""
    n = call.size("window")
    return max(call.result, call.size("x")) / (n // 2 + 1) * n * (2.5 * log2(n) + 1)


FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(
        ("softmax", "log_softmax", "softmin", "masked_softmax", "masked_log_softmax"), SOFTMAX
    ),
    **dict.fromkeys(
        ("batch_norm", "batch_norm_relu", "layer_norm", "group_norm", "instance_norm"), NORM
    ),
    # A product and a sum with numbers of each channel.
    **dict.fromkeys(
        ("batch_norm_inference", "batch_norm_relu_inference"),
        Formula(per_element("data", 2), times(1)),
    ),
    # The square and its sum, the product with the reciprocal root, and the scale. Backward: the
    # product with the root again, the scale, a product and its sum, and what they make (3).
    "rms_norm": Formula(per_element("data", 4), times(7)),
    # The square, its sum and a quotient. Backward: a product and its sum, and what they make (3).
    **dict.fromkeys(("unit_length", "renorm"), Formula(per_element("data", 3), times(5))),
    "renorm_of_rows": Formula(lambda call: 3.0 * call.size("indices") * call.shape("data")[-1]),
    # A product and a sum for x y, x x and y y each. Backward: two products and a difference.
    "cosine_similarity": Formula(
        per_element("x", 6),
        lambda call, forward: 3.0 * call.size("x") * call.with_gradient("x", "y"),
    ),
    # The square, the sum over the channels around, a power and the quotient. Backward: the sum of
    # products with two factors over the channels, two factors of it, a product and a difference.
    "local_response_norm": Formula(
        lambda call: call.result * (float(call.get("channels")) + 3),
        lambda call, forward: call.result * (float(call.get("channels")) + 6),
    ),
    "im2col": Formula(per_result(0), by_gradient),
    "col2im": Formula(per_element("data"), nothing),
    "pooling": Formula(_whole_window, as_forward),
    "max_pooling": Formula(_whole_window, lambda call, forward: float(call.result)),
    "fractional_max_pooling": Formula(_whole_window, lambda call, forward: float(call.result)),
    **dict.fromkeys(
        ("global_pooling", "adaptive_average_pooling", "adaptive_max_pooling"), REDUCTION
    ),
    "max_unpooling": COPY,
    "upsample_nearest": Formula(per_result(0), lambda call, forward: float(call.result)),
    "upsample_nearest_gradient": Formula(per_element("gradient"), nothing),
    **dict.fromkeys(("upsample_linear", "upsample_linear_gradient"), Formula(_taps(2), as_forward)),
    **dict.fromkeys(("upsample_cubic", "upsample_cubic_gradient"), Formula(_taps(4), as_forward)),
    "affine_grid": Formula(lambda call: 2.0 * call.result * call.shape("theta")[-1], as_forward),
    "grid_sample": Formula(_grid_sample, by_factor("data", "grid")),
    "embedding_bag": Formula(
        lambda call: float(call.size("data") * call.shape("weight")[-1]), as_forward, _bags_bytes
    ),
    # Backward: a product of the same size for the states, and one for the weights.
    **dict.fromkeys(
        ("gru", "lstm", "rnn_relu", "rnn_tanh"),
        Formula(_recurrent, lambda call, forward: 2 * forward),
    ),
    **dict.fromkeys(
        (
            *("absolute_error_loss", "soft_margin_loss", "squared_error_loss", "huber_loss"),
            *("smooth_l1_loss", "hinge_embedding_loss", "binary_cross_entropy"),
            *("binary_cross_entropy_of_logits", "kl_divergence", "poisson_loss"),
            "margin_ranking_loss",
        ),
        loss(1),
    ),
    "smooth_l1": ELEMENTWISE,
    "cosine_embedding_loss": loss(6),
    # A difference, a power and a sum for each of two distances.
    "triplet_margin_loss": loss(6, "anchor"),
    **dict.fromkeys(("multilabel_margin_loss", "multi_margin_loss"), loss(2, "data")),
    "negative_log_likelihood": loss(1, "label"),
    "cross_entropy": _of_classes(2),
    "softmax_cross_entropy": _of_classes(2),
    "ctc_loss": _alignments("data"),
    "ctc_loss_of_log_probabilities": _alignments("log_probabilities"),
    **dict.fromkeys(("fourier_transform", "inverse_fourier_transform"), fourier(5)),
    **dict.fromkeys(
        ("real_fourier_transform", "inverse_hermitian_fourier_transform"), fourier(2.5)
    ),
    **dict.fromkeys(
        ("inverse_real_fourier_transform", "hermitian_fourier_transform"), fourier(2.5, made=True)
    ),
    **dict.fromkeys(("cosine_transform", "inverse_cosine_transform"), fourier(2.5)),
    **dict.fromkeys(
        ("short_time_fourier_transform", "inverse_short_time_fourier_transform"),
        Formula(_frames, as_forward),
    ),
}
"""Formulas by operation."""

UPDATE = Formula(_steps)
