"""Families of PyTorch's own linear algebra: options, forms behind public operators, derivatives."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Argument, Number, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import (
    EXCHANGED,
    SIDES,
    definite,
    invertible,
    matrix_to_diagonalise,
    matrix_to_factor,
    stack_of_matrices,
)
from opperf.rules.families.losses import TARGET
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    LOWER_TRIANGULAR,
    POSITIVE,
    ZEROS,
    Arguments,
    call,
    fixed,
    taken,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


def triangle(shape: Shape) -> TensorSpec:
    """Lower triangular matrices that are easy to solve with."""
    return tensor(*shape, fill=LOWER_TRIANGULAR)


def condition(norm: Argument, why: str) -> Variants:
    """The configuration of a condition number by a norm."""
    return lambda size: {why: call(self=definite(matrix_to_diagonalise(size)), p=norm)}


def product(names: tuple[str, ...], *shapes: Shape) -> Arguments:
    """Matrices in half precision whose product is in single precision."""
    specs = (tensor(*shape, dtype="bfloat16") for shape in shapes)
    return {**dict(zip(names, specs, strict=True)), "out_dtype": "float32"}


SINGLE = "a product of bfloat16 matrices kept in single precision, as a loss's logits"
SINGLES = "products of stacks of bfloat16 matrices kept in single precision, as attention's scores"

VARIANTS: dict[str, Variants] = {
    "mm.dtype": lambda size: {SINGLE: product(("self", "mat2"), square(size), square(size)[::-1])},
    "addmm.dtype": lambda size: {
        f"{SINGLE}, with a bias": call(
            **product(("mat1", "mat2"), square(size), square(size)[::-1]),
            self=tensor(square(size)[0]),
        )
    },
    "bmm.dtype": lambda size: {SINGLES: product(("self", "mat2"), cube(size), cube(size))},
    "baddbmm.dtype": lambda size: {
        f"{SINGLES}, with a mask": call(
            **product(("batch1", "batch2"), cube(size), cube(size)), self=tensor(*cube(size))
        )
    },
    "linalg_cond.default": condition(1, "in the 1-norm: by the inverse and sums of columns"),
    "linalg_cond.p_str": condition(
        "nuc", "in the nuclear norm: by the inverse and singular values of both"
    ),
    "matrix_H": lambda size: {"a layer's weights: a view": call(self=tensor(*square(size)))},
    "matrix_exp_backward": lambda size: {
        why: call(self=definite(shape), grad=tensor(*shape))
        for half in [matrix_to_diagonalise(size)[0] // 2]
        for shape, why in (
            (stack_of_matrices(size), "a stack of matrices of 64 rows: blocks of twice the side"),
            ((half, half), "one matrix: a block of twice the side"),
        )
    },
    "norm.ScalarOpt_dtype": lambda size: {
        "the length of bfloat16 gradients, summed in single precision": call(
            self=tensor(*square(size), dtype="bfloat16"), p=2.0, dtype="float32"
        )
    },
    "norm.ScalarOpt_dim_dtype": lambda size: {
        "the lengths of bfloat16 vectors, summed in single precision": call(
            self=tensor(*tall(size), dtype="bfloat16"),
            p=2.0,
            dim=(1,),
            keepdim=True,
            dtype="float32",
        )
    },
    "trace_backward": lambda size: {
        "a large matrix's trace: a scaled identity matrix": call(grad=tensor(), sizes=square(size))
    },
    "_linalg_eigh": lambda size: {
        "one covariance matrix": call(A=definite(matrix_to_diagonalise(size))),
        "eigenvalues alone": call(A=definite(matrix_to_diagonalise(size)), compute_v=False),
        "a stack of covariances of 64 variables": call(A=definite(stack_of_matrices(size))),
    },
    "_linalg_eigvals": lambda size: {
        "one matrix that is not symmetric": call(self=tensor(*matrix_to_diagonalise(size))),
        "a stack of Jacobians of 64 variables": call(self=tensor(*stack_of_matrices(size))),
    },
    "_linalg_svd": lambda size: {
        "a square matrix of weights": call(A=tensor(*matrix_to_diagonalise(size))),
        "many samples of fewer variables": call(A=tensor(*tall(size))),
        "many samples, for singular values alone": call(A=tensor(*tall(size)), compute_uv=False),
    },
    "_linalg_det _linalg_slogdet": lambda size: {
        "a stack of covariances of 64 variables": call(A=definite(stack_of_matrices(size))),
        "one larger triangular matrix": call(A=triangle(matrix_to_diagonalise(size))),
        EXCHANGED: call(A=invertible(stack_of_matrices(size))),
    },
    "_linalg_solve_ex": lambda size: {
        why: call(A=matrix, B=tensor(*matrix.shape[:-1], SIDES))
        for one, stack in [(matrix_to_factor(size), stack_of_matrices(size))]
        for matrix, why in (
            (definite(one), "one system of equations with several right-hand sides"),
            (definite(stack), "a stack of systems of 64 equations"),
            (invertible(stack), EXCHANGED),
        )
    },
    "_linalg_check_errors": lambda size: {
        "a batch of LAPACK's outcomes, none of which is an error": call(
            info=fixed(size.batch, fill=ZEROS, dtype="int32"),
            api_name="linalg.inv",
            is_matrix=False,
        )
    },
}

add_rows(FAMILIES.add, VARIANTS)


@FAMILIES.add("_cdist_forward", "_euclidean_dist", "_cdist_backward")
def distances(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two sets of vectors; for the derivative their distances too, none of them zero."""
    for (*stack, rows, width), why in (
        ((size.extent(1024), 128), "a batch's vectors against centres, as k-means"),
        ((size.samples(8), size.extent(512), 3), "points of two clouds, as Chamfer distance"),
    ):
        between = (*stack, rows, rows // 2)
        offered: Arguments = {
            "x1": tensor(*stack, rows, width),
            "x2": tensor(*stack, rows // 2, width, fill=TARGET),
            **{"p": 2.0, "grad": tensor(*between), WHY: why},
            "cdist": fixed(*between, fill=POSITIVE),
        }
        yield taken(operator, offered)


@FAMILIES.add("_pdist_forward", "_pdist_backward")
def distances_among(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Vectors of one set; for the derivative their distances too, none of them zero."""
    rows = size.extent(512, least=8)
    pairs = rows * (rows - 1) // 2
    offered: Arguments = {
        "self": tensor(rows, 128),
        **{"p": 2.0, "grad": tensor(pairs), "pdist": fixed(pairs, fill=POSITIVE)},
        WHY: "all pairs of vectors of 128 elements, for hierarchical clustering",
    }
    yield taken(operator, offered)


FURTHER: dict[str, Variants] = {
    "linalg_vector_norm": lambda size: {
        "each row's largest": call(self=tensor(*square(size)), ord=Number.of(math.inf), dim=(1,))
    }
}
add_rows(FAMILIES.also, FURTHER)
