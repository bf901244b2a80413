"""Families of JAX's linear algebra that no other framework has in this form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from opperf.model import Argument, Function, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Array, Roles, Table, merge, use
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import SIDES, definite, matrix_to_diagonalise, matrix_to_factor
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, Shape, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows


def transposed(made: Array, arguments: object) -> Array:
    """Returns the upper factor in place of the lower one."""
    return made.swapaxes(-1, -2)


def solution_roles(c_and_lower: tuple[Array, bool], b: Array) -> dict[str, Any]:
    """A lower factor, and right-hand sides."""
    factor, lower = c_and_lower
    assert lower
    return {"x": factor, "right_hand_side": b}


def solution_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A lower factor with the word that it is one, and right-hand sides."""
    return {"c_and_lower": (roles["x"], True), "b": roles["right_hand_side"]}  # type: ignore[dict-item]


def lu_roles(lu_and_piv: tuple[Array, Array], b: Array, trans: int = 0) -> dict[str, Any]:
    """Packed factors with pivots from one, and right-hand sides."""
    packed, pivots = lu_and_piv
    return {"packed": packed, "pivots": pivots + 1, "right_hand_side": b, "adjoint": trans == 1}


def from_zero(value: Any) -> Any:
    """Returns nested lists of pivots that count from zero."""
    return [from_zero(element) for element in value] if isinstance(value, list) else value - 1


def lu_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Packed factors with pivots from zero, right-hand sides, and whether to transpose."""
    pivots = roles["pivots"]
    assert isinstance(pivots, TensorSpec)
    own = msgspec.structs.replace(pivots, fill=literal(from_zero(pivots.fill.data)))
    made: dict[str, Argument] = {
        "lu_and_piv": (roles["packed"], own),  # type: ignore[dict-item]
        "b": roles["right_hand_side"],
    }
    return made | ({"trans": 1} if roles.get("adjoint") else {})


def triangular_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A lower factor and right-hand sides; None for unknowns on the left."""
    made: dict[str, Argument] = {"a": roles["triangle"], "b": roles["x"], "lower": True}
    return None if "right" in roles else made | ({"trans": 1} if "transpose" in roles else {})


def one_matrix(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Returns one matrix as an argument; None for a stack, which JAX's function does not take."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return {"a": x} if len(x.shape) == 2 else None


ONE = {"det": "determinant", "inv": "inverse"}
"""Operations of functions of one matrix."""

FACTORISATIONS: Table = {
    **{name: use(operation, "x=a") for name, operation in ONE.items()},
    "block_diag": use("block_diagonal", "tensors=arrs"),
    "cho_factor": use("cholesky", "x=a", lambda made, given: (transposed(made, given), ANYTHING)),
    "cho_solve": use("solution_from_cholesky", solution_roles, to_arguments=solution_arguments),
    "cholesky": use("cholesky", "x=a", transposed),
    # Without eigenvectors JAX computes them as well.
    "eigh": use("eigenvectors_of_symmetric", "x=a"),
    "expm": use("matrix_exponential", "x=A"),
    "lu": use("lu", "x=a", to_arguments=one_matrix),
    "lu_factor": use("lu_packed", "x=a", first=0),
    "lu_solve": use("solution_from_lu", lu_roles, to_arguments=lu_arguments),
    "qr": use("qr", "x=a -mode", also={"mode": "economic"}),
    "solve": use("solve", "x=a right_hand_side=b"),
    "solve_triangular": use(
        "triangular_solution",
        lambda a, b, trans=0, lower=False, unit_diagonal=False: {
            **{"x": b, "triangle": a, "right": False, "upper": not lower},
            **{"transpose": trans == 1, "unit": unit_diagonal},
        },
        to_arguments=triangular_arguments,
    ),
    # All singular vectors have no gradient.
    "svd": use("svd", "x=a -full_matrices", also={"full_matrices": False}),
}

SYSTEM = "x=A right_hand_side=b -tol -x0"

ITERATIVE: Table = {
    "bicgstab": use("solve", SYSTEM),
    "cg": use("solve", SYSTEM),
    # With a number that says whether it converged.
    "gmres": use("solve", SYSTEM, lambda made, arguments: (made, ANYTHING)),
}

OPERATIONS: Table = merge(
    {f"scipy.linalg.{name}": one for name, one in FACTORISATIONS.items()},
    {f"scipy.sparse.linalg.{name}": one for name, one in ITERATIVE.items()},
)


FAMILIES = Families()


def stepped(size: Preset) -> Shape:
    """Shape of a matrix for algorithms that take a step for each of its elements."""
    return (size.extent(64, least=8),) * 2


FILTER = 64
"""Weights of a filter of sound."""

STEP = 1e-6
"""Residual, relative to the right-hand side, that single precision reaches."""


def iterative(occurs: str) -> Variants:
    """A positive definite system, from zero."""
    return lambda size: {
        f"a system with one right-hand side: {occurs}": call(
            A=definite(matrix_to_factor(size)), b=tensor(matrix_to_factor(size)[0]), tol=STEP
        )
    }


MANY = 1 << 16

OF_EXTENT: dict[str, tuple[int, str]] = {
    "hadamard": (MANY, "signs of orthogonal rows, as to rotate activations before quantisation"),
    "helmert": (MANY, "orthonormal contrasts of categories, for a regression"),
    "hilbert": (MANY, "a badly conditioned matrix, on which solvers are tried"),
    # Larger ones have elements that single precision does not.
    "invhilbert": (16, f"the exact inverse that a solver is judged by: {MOSTLY_DISPATCH}"),
    "invpascal": (16, f"differences from sums, as filters of a wavelet: {MOSTLY_DISPATCH}"),
    "pascal": (64, f"binomial coefficients, as filters of a wavelet: {MOSTLY_DISPATCH}"),
}
"""Most rows of square matrices, and what they are for."""

OF_VECTOR = {
    "circulant": ("c", "a matrix of its first column, as a circular convolution written out"),
    "companion": ("a", "a polynomial's matrix, whose eigenvalues are the roots"),
    "fiedler": ("a", "differences of all pairs, as a kernel of distances"),
    "fiedler_companion": ("a", "a polynomial's matrix in five diagonals"),
    "hankel": ("c", "a matrix of its first column, such as a series for spectral analysis"),
}
"""The vector of square matrices, and what they are for."""


def made_of(argument: str, value: Callable[[int], Argument], why: str) -> Variants:
    """A square matrix, of an argument that a number of rows gives."""
    return lambda size: [{argument: value(size.extent(1024)), WHY: why}]


def coefficients(rows: int) -> TensorSpec:
    """A vector away from zero, as companions divide by its first element."""
    return tensor(rows, fill=POSITIVE)


VARIANTS: dict[str, Variants] = {
    **{
        f"scipy.linalg.{name}": made_of("n", partial(min, most), why)
        for name, (most, why) in OF_EXTENT.items()
    },
    **{
        f"scipy.linalg.{name}": made_of(vector, coefficients, why)
        for name, (vector, why) in OF_VECTOR.items()
    },
    "scipy.linalg.convolution_matrix": lambda size: {
        "a filter written out, to fit it to a signal": call(a=tensor(FILTER), n=size.extent(1024))
    },
    "scipy.linalg.dft": lambda size: {
        "a Fourier transform as a product, as a TPU's": call(n=size.extent(1024), dtype="complex64")
    },
    "scipy.linalg.eigh_tridiagonal": lambda size: {
        # JAX has no eigenvectors of these.
        "the energies of a particle on a line, and the last step of Lanczos's method": call(
            d=fixed(size.extent(1024)), e=fixed(size.extent(1024) - 1), eigvals_only=True
        )
    },
    "scipy.linalg.expm_frechet": lambda size: {
        "a matrix and a direction, along which an exponential is differentiated": call(
            A=definite(matrix_to_diagonalise(size)), E=tensor(*matrix_to_diagonalise(size))
        )
    },
    "scipy.linalg.funm": lambda size: {
        "the exponential of a matrix by its Schur form: a step for each element": call(
            A=definite(stepped(size)), func=Function("jax.numpy.exp")
        )
    },
    "scipy.linalg.hessenberg": lambda size: [
        {"a": fixed(*matrix_to_diagonalise(size)), **options, WHY: why}
        for options, why in (
            ({}, "one matrix to Hessenberg form, the first step to its eigenvalues"),
            ({"calc_q": True}, "with the orthogonal factor, the first step to a Schur form"),
        )
    ],
    "scipy.linalg.leslie": lambda size: {
        "births and survivals by age, as a population's next year": call(
            f=coefficients(size.extent(1024)), s=coefficients(size.extent(1024) - 1)
        )
    },
    "scipy.linalg.polar": lambda size: {
        "a layer's update made orthogonal, as Muon's": call(a=tensor(*matrix_to_diagonalise(size))),
        "many short rows, by singular values": call(a=tensor(*tall(size)), method="svd"),
    },
    "scipy.linalg.qr_multiply": lambda size: {
        "a few rows times the orthogonal factor, which is never multiplied out": call(
            a=tensor(*matrix_to_diagonalise(size)), c=tensor(SIDES, matrix_to_diagonalise(size)[0])
        )
    },
    "scipy.linalg.rsf2csf": lambda size: {
        "a real Schur form to a complex one, as if each pair of rows were to be rotated": call(
            **dict.fromkeys("TZ", fixed(*stepped(size)))
        )
    },
    "scipy.linalg.schur": lambda size: {
        "the real form, to solve Lyapunov's equation": call(a=fixed(*matrix_to_diagonalise(size))),
        "the complex form, a triangle, as functions of matrices need it": call(
            a=fixed(*stepped(size)), output="complex"
        ),
    },
    "scipy.linalg.solve_sylvester": lambda size: {
        # Sums of eigenvalues of A and B are positive, so that there is one solution.
        "Sylvester's equation by Schur forms, for a linear system's covariance": call(
            A=definite(stepped(size)), B=definite(stepped(size)), C=tensor(*stepped(size))
        )
    },
    "scipy.linalg.sqrtm": lambda size: {"a covariance's root": call(A=definite(stepped(size)))},
    "scipy.linalg.toeplitz": lambda size: {
        "a stationary series' covariance": call(c=tensor(size.extent(1024)))
    },
    "scipy.sparse.linalg.cg": iterative("a Gaussian process with many points"),
    "scipy.sparse.linalg.bicgstab scipy.sparse.linalg.gmres": iterative("an implicit step"),
}
add_rows(FAMILIES.add, VARIANTS, replaces="iterations of few steps on a matrix where they converge")
