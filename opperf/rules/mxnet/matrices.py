"""Products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Roles, Table, use
from opperf.rules.bert import HEADS, WIDTH, tokens
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import LIST_LENGTH, Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, Arguments, call, fixed, named, tensor, tensors
from opperf.rules.variants import Variants, add_rows


def least_squares_roles(A: Any, B: Any, rcond: float) -> dict[str, Any]:
    """A system of equations and the cutoff of singular values; MXNet's default is negative."""
    return {"x": A, "right_hand_side": B, "cutoff": None if rcond < 0 else rcond}


def least_squares_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A system of equations, with MXNet's default cutoff, which depends on the precision."""
    return {"A": roles["x"], "B": roles["right_hand_side"], "rcond": -1.0}


def tensordot_roles(a: Any, b: Any, a_axes_summed: Any, b_axes_summed: Any) -> dict[str, Any]:
    """Two tensors, and a pair of the axes of each that are summed over."""
    return {"x": a, "y": b, "axes": (a_axes_summed, b_axes_summed)}


def tensordot_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Two tensors and the axes of each; None for a number of axes, which another operator takes."""
    axes = roles["axes"]
    if not isinstance(axes, tuple):
        return None
    return {"a": roles["x"], "b": roles["y"], "a_axes_summed": axes[0], "b_axes_summed": axes[1]}


def int_axes_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Two tensors and the number of axes that are summed over; None for lists of axes."""
    if not isinstance(roles["axes"], int):
        return None
    return {"a": roles["x"], "b": roles["y"], "axes": roles["axes"]}


ONE = "x=A|M|a"
TWO = "x=lhs|A|a y=rhs|B|b"
GEMM = f"{TWO} addend=C transpose_x=transpose_a transpose_y=transpose_b"

PRODUCT = use("matrix_product", GEMM)
DOT = use("dot", TWO)
CHOLESKY = use("cholesky", ONE)

OPERATIONS: Table = {
    "_linalg_syevd": use("eigenvectors_in_rows", ONE),
    "_np_dot": DOT,
    "_npi_cholesky": CHOLESKY,
    "_npi_cross": use("cross_product", TWO),
    "_npi_dot": DOT,
    "_npi_eig": use("eigenvectors", ONE),
    "_npi_eigh": use("eigenvectors_of_symmetric", ONE),
    "_npi_eigvals": use("eigenvalues", ONE),
    "_npi_eigvalsh": use("eigenvalues_of_symmetric", ONE),
    "_npi_einsum": use("einsum", "tensors=data subscripts"),
    "_npi_kron": use("kronecker_product", TWO),
    "_npi_lstsq": use("least_squares", least_squares_roles, to_arguments=least_squares_arguments),
    "_npi_matmul": PRODUCT,
    "_npi_matrix_rank": use("matrix_rank", f"{ONE} least=tol"),
    "_npi_matrix_rank_none_tol": use("matrix_rank", ONE),
    "_npi_pinv": use("pseudo_inverse", f"{ONE} cutoff=rcond"),
    "_npi_pinv_scalar_rcond": use("pseudo_inverse", ONE),
    "_npi_qr": use("qr", ONE),
    "_npi_solve": use("solve", "x=A right_hand_side=B"),
    "_npi_svd": use("svd", ONE),
    "_npi_tensordot": use("tensordot", tensordot_roles, to_arguments=tensordot_arguments),
    "_npi_tensordot_int_axes": use("tensordot", f"{TWO} axes", to_arguments=int_axes_arguments),
    "_npi_tensorinv": use("tensor_inverse", "x=a split=ind"),
    "_npi_tensorsolve": use("tensor_solve", "x=a right_hand_side=b"),
    "batch_dot": PRODUCT,
    "dot": use("matrix_product", f"{GEMM} -forward_stype"),
    "khatri_rao": use("khatri_rao_product", "matrices=args"),
    "linalg_det": use("determinant", ONE),
    "linalg_extractdiag": use("diagonal_of_matrix", ONE),
    "linalg_extracttrian": use("pack_triangle", ONE),
    "linalg_gelqf": use("lq", ONE),
    "linalg_gemm": PRODUCT,
    "linalg_gemm2": PRODUCT,
    "linalg_inverse": use("inverse", ONE),
    "linalg_makediag": use("diagonal_matrix", ONE),
    "linalg_maketrian": use("unpack_triangle", ONE),
    "linalg_potrf": CHOLESKY,
    "linalg_potri": use("inverse_from_cholesky", ONE),
    "linalg_slogdet": use("sign_and_log_determinant", ONE),
    "linalg_sumlogdiag": use("sum_of_log_diagonal", ONE),
    "linalg_syrk": use("matrix_times_own_transpose", ONE),
    "linalg_trmm": use("triangular_product", "triangle=A x=B right=rightside"),
    "linalg_trsm": use("triangular_solution", "triangle=A x=B right=rightside transpose"),
}

FAMILIES = Families()

PRODUCT_OF = named("lhs rhs")
BY_TRANSPOSE: Arguments = {"transpose_b": True}


def products(shape: Shape, narrow: int, short: int, batch: Shape = ()) -> dict[str, Arguments]:
    """The products of MXNet's utility."""
    rows, wide = shape
    low, vector = tensor(*batch, rows, narrow), tensor(*batch, rows, 1)
    return {
        "large matrices, as a wide dense layer's of many samples: bound by arithmetic": PRODUCT_OF(
            tensor(*batch, rows, wide), tensor(*batch, wide, rows)
        ),
        "narrow factors, as a low-rank update: bound by writing": PRODUCT_OF(low, low)
        | BY_TRANSPOSE,
        "a vector by a matrix, both transposed, as a classifier of one sample": (
            PRODUCT_OF(vector, tensor(*batch, short, rows)) | {"transpose_a": True} | BY_TRANSPOSE
        ),
    }


def batches(size: Preset) -> Rows:
    """The products of batches, which alone grow with the size, and those of attention."""
    batch, length = tokens(size)
    heads = tensor(batch * HEADS, length, WIDTH)
    texts, kept = size.samples(4) * HEADS, size.extent(1024, least=16)
    cache = fixed(texts, kept, WIDTH)
    gpt_2 = "GPT-2 generating for four texts"
    return {
        **products((1000, 256), 10, 100, (size.extent(8),)),
        "BERT-base, attention's scores: queries by keys": PRODUCT_OF(heads, heads) | BY_TRANSPOSE,
        "BERT-base, attention's output: values weighted by scores": PRODUCT_OF(
            tensor(batch * HEADS, length, length, fill=SIMPLEX), heads
        ),
        f"{gpt_2}: queries by 1024 keys": PRODUCT_OF(fixed(texts, 1, WIDTH), cache) | BY_TRANSPOSE,
        f"{gpt_2}: 1024 values weighted": PRODUCT_OF(fixed(texts, 1, kept, fill=SIMPLEX), cache),
    }


SINGLE: dict[str, Variants] = {
    "dot": lambda size: products(square(size), size.extent(10), size.extent(100))
}
add_rows(FAMILIES.add, SINGLE, replaces="it takes no batches")

BATCHES: dict[str, Variants] = {"batch_dot _sg_onednn_batch_dot": batches}
add_rows(FAMILIES.add, BATCHES, replaces="it takes batches of matrices alone")

VARIANTS: dict[str, Variants] = {
    "khatri_rao": lambda size: {
        "two factors of 64 rows, as CP of a tensor of three axes": call(
            args=tensors([tensor(64, size.extent(64))] * 2)
        ),
        "three short factors, as CP of a tensor of four axes": call(
            args=tensors([tensor(8, size.extent(100))] * LIST_LENGTH)
        ),
    }
}
add_rows(FAMILIES.add, VARIANTS)


KEYS = "bqhd,bkhd->bhqk"
"""Subscripts of the products of queries by keys."""


def einsum(size: Preset) -> Iterable[Arguments]:
    """A transposed copy, sums along an axis, and small products, which it computes without BLAS."""
    rows, columns = square(size)
    matrix, extent = tensor(rows, columns), size.extent(128)
    small = tensor(extent, extent)
    heads = [tensor(1, extent, 2, WIDTH)] * 2
    for why, operands, subscripts in (
        ("one operand: a transposed copy", [matrix], "ij->ji"),
        ("each row by its own partner, as similarities of pairs", [matrix] * 2, "ij,ij->i"),
        ("a product of small matrices, in loops without BLAS", [small] * 2, "ij,jk->ik"),
        ("attention's scores of a few heads, whose elements lie inside of each token", heads, KEYS),
    ):
        yield {WHY: why, "data": tensors(operands), "subscripts": subscripts}


REPLACING: dict[str, Variants] = {"_npi_einsum": einsum}
add_rows(FAMILIES.add, REPLACING, replaces="it computes products by loops, without BLAS")
