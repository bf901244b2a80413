"""Formulas of operations and bytes: of every canonical operation, and by hand for some."""

from __future__ import annotations

import numpy as np
import pytest

from opperf.operations import OPERATIONS
from opperf.operations.work.sizes import Sizes
from opperf.operations.work.stand_ins import NoDataError, StandIn, stand_in
from opperf.operations.work.table import CLASSES, FORMULAS, OWN


def array(*shape: int, gradient: bool = False) -> np.ndarray:
    return stand_in(shape, np.dtype("float32"), gradient)


def call(made: tuple[int, ...], **roles: object) -> Sizes:
    arrays = [one for one in roles.values() if isinstance(one, np.ndarray)]
    read, written = tuple(one.size for one in arrays), 4 * sum(made)
    moved = sum(one.nbytes for one in arrays) + written
    gradients = sum(isinstance(one, StandIn) and one.gradient for one in arrays)
    return Sizes(lambda: roles, read, made, moved, written, 0, gradients)


def test_every_operation_has_a_formula():
    assert FORMULAS.keys() == OPERATIONS.keys()


def test_an_operation_is_in_one_class():
    listed = [name for _, names in CLASSES for name in names.split()]
    assert len(listed) == len(set(listed))
    assert not set(listed) & OWN.keys()


MATRIX = array(8, 8)


@pytest.mark.parametrize(
    ("operation", "sizes", "flops"),
    [
        ("relu", call((64,), x=MATRIX), 64),
        ("sum", call((1,), x=MATRIX), 64),
        ("transpose", call((64,), x=MATRIX), 0),
        ("matrix_product", call((3 * 5,), x=array(3, 4), y=array(4, 5)), 2 * 3 * 4 * 5),
        ("matrix_product", call((3,), x=array(3, 4), y=array(4)), 2 * 3 * 4),
        ("matrix_product", call((30,), x=array(2, 1, 3, 4), y=array(5, 4, 1)), 2 * 2 * 5 * 12),
        (
            "matrix_product",
            call((15,), x=array(4, 3), y=array(5, 4), transpose_x=True, transpose_y=True),
            2 * 3 * 4 * 5,
        ),
        ("dense", call((30,), data=array(2, 3, 4), weight=array(5, 4), bias=array(5)), 6 * 40 + 30),
        ("einsum", call((1,), tensors=[array(3, 4), array(4, 5)], subscripts="ij,jk->ik"), 120),
        ("einsum", call((20,), tensors=[array(4), array(5)], subscripts="i,j->ij"), 20),
        ("einsum", call((7,), tensors=[array(7, 2, 3)], subscripts="...ij->..."), 42),
        ("matrix_product_chain", call((2,), matrices=[array(9, 1), array(1, 9), array(9, 2)]), 72),
        ("cholesky", call((64,), x=MATRIX), 8**3 / 3),
        ("lu", call((64,), x=MATRIX), 2 / 3 * 8**3),
        # Of 12 x 4 and 4 x 12: R alone takes 2 * 16 * (12 - 4 / 3); Q of 12 x 4 as much again, of
        # 4 x 4 four thirds of 4 cubed, of 12 x 12 4 * 144 * 4 - 4 * 12 * 16 + 4 / 3 * 64.
        ("qr_packed", call((48,), x=array(4, 12)), 2 * 16 * 12 - 2 / 3 * 64),
        ("qr", call((48,), x=array(12, 4)), 2 * (2 * 16 * 12 - 2 / 3 * 64)),
        ("qr", call((48,), x=array(4, 12)), 2 * 16 * 12 - 2 / 3 * 64 + 4 / 3 * 64),
        ("qr", call((144,), x=array(12, 4)), 2 * 16 * 12 - 2 / 3 * 64 + 2304 - 768 + 4 / 3 * 64),
        ("qr", call((96,), x=array(2, 4, 12)), 2 * (2 * 16 * 12 + 2 / 3 * 64)),
        ("lq", call((48,), x=array(4, 12)), 2 * (2 * 16 * 12 - 2 / 3 * 64)),
        ("svd", call((48,), x=array(4, 12)), 14 * 12 * 16 + 8 * 64),
        ("svd", call((48,), x=array(12, 4)), 14 * 12 * 16 + 8 * 64),
        ("svd", call((144,), x=array(4, 12)), 4 * 144 * 4 + 8 * 12 * 16 + 9 * 64),
        ("pseudo_inverse", call((48,), x=array(4, 12)), 16 * 12 * 16 + 8 * 64),
        (
            "least_squares",
            call((8,), x=array(12, 4), right_hand_side=array(12, 2)),
            2 * 16 * 12 - 2 / 3 * 64 + 2 * (4 * 12 * 4 - 16),
        ),
        (
            "least_squares",
            call((12,), x=array(4, 12), right_hand_side=array(4)),
            2 * 16 * 12 - 2 / 3 * 64 + (4 * 12 * 4 - 16),
        ),
        ("solve", call((16,), x=MATRIX, right_hand_side=array(8, 2)), 2 / 3 * 8**3 + 2 * 64 * 2),
        ("matrix_norm", call((1,), x=MATRIX), 64),
        ("condition_number", call((1,), x=MATRIX, norm=1), 2 * 8**3),
        ("matrix_times_own_transpose", call((27,), x=array(3, 3, 5)), 2 * 3 * 9 * 5),
        ("convolve", call((12,), x=array(10), y=array(3)), 2 * 30),
        ("correlate", call((8,), x=array(10), y=array(3)), 2 * 8 * 3),
        (
            "gru",
            call(
                (1,),
                data=array(3, 2, 4),
                weights=[array(6, 4), array(6, 2)],
                biases=[array(6), array(6)],
            ),
            6 * (2 * 36 + 12),
        ),
        # Sequences of three steps and of one: four steps, without the padding.
        (
            "gru",
            call(
                (1,),
                data=array(3, 2, 4),
                lengths=np.array([3, 1]),
                weights=[array(6, 4), array(6, 2)],
                biases=[array(6), array(6)],
            ),
            4 * (2 * 36 + 12),
        ),
        ("sort", call((64,), x=MATRIX, axis=-1), 64 * 3),
        ("fourier_transform", call((64,), x=MATRIX, axes=-1), 5 * 64 * 3),
        ("real_fourier_transform", call((40,), x=MATRIX, axes=(-1,)), 2.5 * 64 * 3),
        ("inverse_real_fourier_transform", call((64,), x=array(8, 5), axes=-1), 2.5 * 64 * 3),
        ("softmax", call((64,), data=MATRIX), 5 * 64),
        ("squared_error_loss", call((1,), x=MATRIX, y=MATRIX, reduction="mean"), 128),
        ("squared_error_loss", call((64,), x=MATRIX, y=MATRIX, reduction="none"), 64),
        ("upsample_linear", call((64,), data=array(1, 1, 4, 4)), 2 * 4 * 64),
    ],
)
def test_operations(operation, sizes, flops):
    assert FORMULAS[operation].flops(sizes) == pytest.approx(flops)


@pytest.mark.parametrize(
    ("operation", "sizes", "flops"),
    [
        ("multiply", call((64,), x=array(8, 8, gradient=True), y=array(8, gradient=True)), 128),
        ("add", call((64,), x=array(8, 8, gradient=True), y=MATRIX), 0),
        ("matrix_product", call((15,), x=array(3, 4, gradient=True), y=array(4, 5)), 120),
        (
            "dense",
            call((15,), data=array(3, 4, gradient=True), weight=array(5, 4, gradient=True)),
            240,
        ),
        ("take", call((24,), data=array(10, 8, gradient=True), indices=array(3)), 24),
        ("cross_product", call((24,), x=array(8, 3, gradient=True), y=array(8, 3)), 72),
        ("cosine_similarity", call((8,), x=array(8, 8, gradient=True), y=MATRIX), 3 * 64),
        ("local_response_norm", call((64,), data=array(1, 4, 4, 4), channels=5), 64 * 11),
    ],
)
def test_operations_of_gradients(operation, sizes, flops):
    formula = FORMULAS[operation]
    assert formula.backward(sizes, formula.flops(sizes)) == flops


@pytest.mark.parametrize(
    ("operation", "sizes", "moved"),
    [
        ("add", call((64,), x=MATRIX, y=MATRIX), 4 * 3 * 64),
        # The rows that are read, their places, and the rows that are written.
        ("take", call((24,), data=array(1000, 8), indices=array(3)), 4 * (24 + 3 + 24)),
        ("embedding", call((24,), data=array(3), weight=array(1000, 8)), 4 * (24 + 3 + 24)),
        ("zeros_like", call((64,), x=MATRIX), 4 * 64),
        ("broadcast_like", call((64,), x=array(8), like=MATRIX), 4 * (8 + 64)),
        ("slice_axis", call((8,), data=MATRIX, axis=0, begin=0, end=1), 4 * 16),
    ],
)
def test_bytes(operation, sizes, moved):
    assert FORMULAS[operation].bytes(sizes) == moved


def test_what_is_written_in_place_is_read_and_written_where_it_has_to_be():
    roles = {"data": array(100, 8), "indices": array(3), "values": array(3, 8)}
    read = 4 * (800 + 3 + 24)
    in_place = Sizes(lambda: roles, (800, 3, 24), (800,), read, 3200, 3200)
    assert FORMULAS["index_copy"].bytes(in_place) == 4 * (3 + 24 + 24)
    assert FORMULAS["index_add"].bytes(in_place) == 4 * (3 + 24 + 2 * 24)
    assert FORMULAS["relu"].bytes(Sizes(dict, (64,), (64,), 256, 256, 256)) == 512


def test_layers_that_project_or_have_unknown_lengths_have_no_figure():
    layer = {"data": array(3, 2, 4), "weights": [array(8, 4), array(8, 2)]}
    projected = call((1,), **layer, biases=[array(8), array(1, 2)])
    assert np.isnan(FORMULAS["lstm"].flops(projected))
    unknown = call((1,), **layer, biases=[array(8), array(8)], lengths=array(2))
    with pytest.raises(NoDataError):
        FORMULAS["lstm"].flops(unknown)


def test_stand_ins_have_shapes_and_no_data():
    x, y = array(2, 1, 3, gradient=True), array(4, 3)
    assert (x * y + 1).shape == (2, 4, 3) and (x * y).gradient
    assert np.swapaxes(x, 0, 2).shape == (3, 1, 2) and x.reshape(-1).gradient
    assert x.sum(axis=1, keepdims=True).shape == (2, 1, 3)
    assert np.pad(y, [(1, 1), (0, 2)]).shape == (6, 5)
    assert y.repeat(2, 1).shape == (4, 6) and y.astype("float64").nbytes == 96
    for ask in (bool, int, float, lambda one: one.item()):
        with pytest.raises(NoDataError):
            ask(array())
    big = stand_in((10**6, 10**6), np.dtype("float32"))
    assert (big + big).nbytes == 4 * 10**12
    with pytest.raises(NoDataError):
        np.concatenate([big, big])
