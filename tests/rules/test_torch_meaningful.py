"""Inputs of PyTorch's operators that are what their lines of why say, and results that can be
written where they are to be."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.model import Case, Settings  # noqa: E402
from opperf.rules.callables import inputs_for_target  # noqa: E402
from opperf.rules.families.elementwise import alike, broadcasting  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from opperf.runner.prepared import PreparedCase  # noqa: E402

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
            dict(FRAMEWORK.with_outputs(operator, one.arguments)),
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
    for label in ("fill.Scalar", "fill.Tensor", "fill_.Scalar", "fill_.Tensor", "full", "full.out"):
        for case in cases(label):
            if "zero" in case.why:
                _, made = called(case)
                assert not made.any(), (label, case.why)  # type: ignore[attr-defined]
                checked += 1
    assert checked == 6


def test_pairs_of_shapes_name_no_model() -> None:
    whys = [one.why for one in (*alike(SMALL), *broadcasting(SMALL))]
    models = ("layer", "ResNet", "learnt", "residual", "normalisation", "BERT", "bias")
    assert not [why for why in whys for word in models if word in why]
