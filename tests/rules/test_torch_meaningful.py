"""Inputs of PyTorch's operators that are what their lines of why say, and results that can be
written where they are to be."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Case, Settings, TensorSpec  # noqa: E402
from opperf.rules.callables import inputs_for_target  # noqa: E402
from opperf.rules.configurations import WHY  # noqa: E402
from opperf.rules.families.elementwise import alike, broadcasting  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402

FRAMEWORK = load("torch")

OPERATORS = {one.label: one for one in FRAMEWORK.operators()}

SMALL = PRESETS["small"]


def cases(label: str) -> list[Case]:
    """The small cases of an operator."""
    operator = OPERATORS[label]
    made = inputs_for_target(FRAMEWORK, operator.target, operator, SMALL, "float32")
    if isinstance(made, NoInputs):
        return []
    settings = Settings(device="cpu(0)", profiler="python")
    return [
        Case(
            operator.target,
            dict(FRAMEWORK.inference.with_outputs(operator, one.arguments)),
            settings,
            ("forward",),
            why=one.why,
        )
        for one in made
    ]


def called(case: Case) -> tuple[PreparedCase, object]:
    """A case's arguments, and what its call returns."""
    with FRAMEWORK.scope(case):
        prepared = PreparedCase(case, FRAMEWORK)
        return prepared, prepared.call()


def window(case: Case, axis: int, sides: tuple[int, ...], count: int) -> list[range]:
    """Each window along an axis of a map, as the operator's documentation defines it."""
    name, extent, places = case.target.name, sides[axis], range(count)
    kernel = case.arguments.get("kernel_size", (2,) * len(sides))[axis]  # type: ignore[index]
    if name.startswith("adaptive"):
        return [range(i * extent // count, -(-(i + 1) * extent // count)) for i in places]
    if name.startswith("fractional"):
        begins = [int(i * (extent - kernel) / (count - 1)) for i in places]
    else:
        stride = case.arguments.get("stride", (2,) * len(sides))[axis]  # type: ignore[index]
        padding = case.arguments.get("padding", (0,) * len(sides))[axis]  # type: ignore[index]
        begins = [i * stride - padding for i in places]
    return [range(max(0, i), min(extent, i + kernel)) for i in begins]


def test_maxima_are_inside_their_windows() -> None:
    labels = [
        label
        for label, one in OPERATORS.items()
        if one.category == "pooling"
        and one.parameter("indices") is not None
        and one.variants != ("out",)
    ]
    names = set()
    for case in (case for label in labels for case in cases(label)):
        indices = PreparedCase(case, FRAMEWORK).arguments["indices"].numpy()
        sides = case.arguments.get("output_size")
        if "unpool" not in case.target.name:
            sides = case.arguments["self"].shape[2:]  # type: ignore[union-attr]
        places = np.unravel_index(indices, sides)
        for axis, (found, count) in enumerate(zip(places, indices.shape[2:], strict=True)):
            for i, one in enumerate(window(case, axis, sides, count)):
                inside = np.isin(found.take(i, axis=2 + axis), one)
                assert inside.all(), (case.label, axis, i)
        names.add(case.target.name)
    assert len(names) == 8


def test_results_of_elementwise_operators_fit_where_they_are_written() -> None:
    written = [
        one
        for one in OPERATORS.values()
        if one.variants == ("in-place",)
        and not one.on_request
        and one.category in ("unary", "binary", "misc", "gemm")
    ]
    ran = 0
    for operator in written:
        for case in cases(operator.label):
            called(case)
            ran += 1
    assert ran > 500
    # The one that is left has no vector that would have to become a matrix.
    dense = [one for one in cases("addmm_") if one.arguments["mat1"].layout == "dense"]  # type: ignore[union-attr]
    assert dense and all(len(one.arguments["self"].shape) == 2 for one in dense)  # type: ignore[union-attr]


def test_numbers_are_searched_in_the_sequence_of_their_own_row() -> None:
    (case,) = [one for one in cases("searchsorted.Tensor") if "NeRF" in one.why]
    prepared, places = called(case)
    ordered = prepared.arguments["sorted_sequence"].numpy()
    assert (ordered == ordered[0]).all() and (np.diff(ordered[0]) > 0).all()
    found = np.unique(places.numpy(), return_counts=True)  # type: ignore[attr-defined]
    assert len(found[0]) == ordered.shape[1]
    assert found[1].max() < 3 * found[1].mean()


@pytest.mark.parametrize("label", ["linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu"])
def test_rows_are_exchanged(label: str) -> None:
    for case in cases(label):
        _, outputs = called(case)
        if label == "linalg_lu":
            permutation = outputs[0]  # type: ignore[index]
            assert not torch.equal(
                permutation, torch.eye(permutation.shape[-1]).expand_as(permutation)
            )
        else:
            pivots = outputs[1]  # type: ignore[index]
            in_order = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)
            assert not torch.equal(pivots, in_order.expand_as(pivots))


def test_what_is_set_to_zero_is_zero() -> None:
    checked = 0
    for label in ("fill.Scalar", "fill.Tensor", "fill_.Scalar", "fill_.Tensor"):
        for case in cases(label):
            if "zero" in case.why:
                _, made = called(case)
                assert not made.any(), (label, case.why)  # type: ignore[attr-defined]
                checked += 1
    assert checked == 4


def test_pairs_of_shapes_name_no_model() -> None:
    whys = [str(one.notes[WHY]) for one in (*alike(SMALL), *broadcasting(SMALL))]
    models = ("layer", "ResNet", "learnt", "residual", "normalisation", "BERT", "bias")
    assert not [why for why in whys for word in models if word in why]


def meta_result(label: str, number: int) -> tuple[dict[str, object], tuple[object, ...]]:
    """The arguments of one of an operator's cases, and what its kernel for tensors without data
    returns."""
    operator = OPERATORS[label]
    made = inputs_for_target(FRAMEWORK, operator.target, operator, SMALL, "float32")
    assert not isinstance(made, NoInputs)
    arguments = {
        name: FRAMEWORK.tensor(value, "meta", 0) if isinstance(value, TensorSpec) else value
        for name, value in made[number].arguments.items()
    }
    result = FRAMEWORK.function(operator.target)(**arguments)
    return arguments, result if isinstance(result, tuple) else (result,)


SAVED = {
    "_scaled_dot_product_flash_attention": (0, 1, 6, 7),
    "_scaled_dot_product_efficient_attention": (0, 1, 2, 3),
    "_scaled_dot_product_cudnn_attention": (0, 1, 6, 7),
    "_flash_attention_forward": (0, 1, 2, 3),
    "_efficient_attention_forward": (0, 1, 2, 3),
}
"""CUDA's kernels of attention, and which of their results the backward kernel takes: the output,
the logarithms of sums, the generator's state."""

TAKEN = ("out", "logsumexp", "philox_seed", "philox_offset", "rng_state", "unused")


@pytest.mark.parametrize("forward", SAVED)
def test_gradients_of_attention_take_what_the_forward_pass_returns(forward: str) -> None:
    for number in range(3):
        _, result = meta_result(forward, number)
        backward = f"{forward.removesuffix('_forward')}_backward"
        taken, gradients = meta_result(backward, number)
        saved = [result[i] for i in SAVED[forward]]
        given = [taken[name] for name in TAKEN if name in taken]
        assert [tuple(one.shape) for one in given] == [tuple(one.shape) for one in saved]
        assert [one.shape for one in gradients[:3]] == [
            taken[name].shape for name in ("query", "key", "value")
        ]


def test_the_saved_results_of_attention_are_near_those_of_its_forward_pass() -> None:
    backward = "_scaled_dot_product_flash_attention_for_cpu_backward"
    for case in cases(backward):
        values = PreparedCase(case, FRAMEWORK).arguments
        out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            values["query"], values["key"], values["value"], is_causal=values["is_causal"]
        )
        if values["is_causal"]:
            # Of the first tokens, which attend to few others, both vary.
            out, sums = out[:, :, -1], sums[:, :, -1]
        assert 0.5 < (values["out"].std() / out.std()) < 2
        assert abs(values["logsumexp"].max() - sums.mean()) < 0.5
