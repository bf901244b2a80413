"""Families of JAX's linear algebra that no other framework has in this form."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Function, Operator
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import (
    SIDES,
    definite,
    matrix_to_diagonalise,
    matrix_to_factor,
    stack_of_matrices,
)
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, Shape, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import LOWER_TRIANGULAR, Arguments, fixed, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()


def matrix_to_step_through(size: Preset) -> Shape:
    """Shape of a matrix for algorithms that take a step for each of its elements."""
    return (size.extent(64, least=8),) * 2


def triangular(size: Preset) -> Iterable[Arguments]:
    """Triangular systems: of one factor and of a stack of them, transposed, and with ones on the
    diagonal."""
    shape, stack = matrix_to_factor(size), stack_of_matrices(size)
    whitens = "as a Gaussian process whitens"
    for factor, options, why in (
        (shape, {}, f"one factor and several right-hand sides, {whitens}"),
        (stack, {}, "a stack of factors of 64 rows, as a batch of covariances whitens"),
        (shape, {"trans": 1}, "the transposed system, as the second step of solving by Cholesky"),
        (shape, {"unit_diagonal": True}, "ones on the diagonal, as the lower factor of LU has"),
    ):
        yield {
            "a": tensor(*factor, fill=LOWER_TRIANGULAR),
            "b": tensor(*factor[:-1], SIDES),
            "lower": True,
            **options,
            WHY: why,
        }


STEP = 1e-6
"""Residual, relative to the right-hand side, that single precision reaches."""


def iterative(occurs: str) -> Variants:
    """A positive definite system, from zero and from a start."""

    def made(size: Preset) -> Iterable[Arguments]:
        shape = matrix_to_factor(size)
        for options, why in (
            ({}, f"a system with one right-hand side, as of {occurs}"),
            ({"x0": fixed(shape[0])}, "from a start other than zero"),
        ):
            yield {"A": definite(shape), "b": tensor(shape[0]), **options, "tol": STEP, WHY: why}

    return made


VARIANTS: dict[str, Variants] = {
    "scipy.linalg.eigh_tridiagonal": lambda size: [
        {
            "d": fixed(size.extent(1024)),
            "e": fixed(size.extent(1024) - 1),
            # JAX has no eigenvectors of these.
            "eigvals_only": True,
            WHY: "the energies of a particle on a line, and the last step of Lanczos's method",
        }
    ],
    "scipy.linalg.expm_frechet": lambda size: [
        {
            "A": definite(matrix_to_diagonalise(size)),
            "E": tensor(*matrix_to_diagonalise(size)),
            WHY: "a generator and a direction, as the gradient of a Markov chain's likelihood",
        }
    ],
    "scipy.linalg.funm": lambda size: [
        {
            "A": definite(matrix_to_step_through(size)),
            "func": Function("jax.numpy.exp"),
            WHY: "the exponential of a generator by its Schur form: a step for each element",
        }
    ],
    "scipy.linalg.hessenberg": lambda size: [
        {"a": fixed(*matrix_to_diagonalise(size)), **options, WHY: why}
        for options, why in (
            ({}, "one matrix to Hessenberg form, the first step to its eigenvalues"),
            ({"calc_q": True}, "with the orthogonal factor, the first step to a Schur form"),
        )
    ],
    "scipy.linalg.hilbert": lambda size: [
        {"n": size.extent(1024), WHY: "a badly conditioned matrix, on which solvers are tried"}
    ],
    "scipy.linalg.pascal": lambda size: [
        # The largest element of 64 rows is the last below single precision's end.
        {"n": 64, WHY: f"binomial coefficients, as filters of a wavelet: {MOSTLY_DISPATCH}"}
    ],
    "scipy.linalg.polar": lambda size: [
        {
            "a": tensor(*matrix_to_diagonalise(size)),
            WHY: "the nearest orthogonal matrix to a layer's update, as Muon takes it",
        },
        {
            "a": tensor(*tall(size)),
            "method": "svd",
            WHY: "many rows by singular values, as to align two sets of embeddings",
        },
    ],
    "scipy.linalg.rsf2csf": lambda size: [
        {
            "T": fixed(*matrix_to_step_through(size)),
            "Z": fixed(*matrix_to_step_through(size)),
            WHY: "a real Schur form to a complex one: a rotation for each row",
        }
    ],
    "scipy.linalg.schur": lambda size: [
        {
            "a": fixed(*matrix_to_diagonalise(size)),
            WHY: "the real form, as to solve Lyapunov's equation of a linear system",
        },
        {
            "a": fixed(*matrix_to_step_through(size)),
            "output": "complex",
            WHY: "the complex form, as functions of a matrix need it",
        },
    ],
    "scipy.linalg.solve_triangular": triangular,
    "scipy.linalg.sqrtm": lambda size: [
        {
            "A": definite(matrix_to_step_through(size)),
            WHY: "the root of a covariance, as in the Frechet distance of two sets of pictures",
        }
    ],
    "scipy.linalg.toeplitz": lambda size: [
        {
            "c": tensor(size.extent(1024)),
            WHY: "a symmetric matrix, as the covariance of a stationary series",
        },
        {
            "c": tensor(size.extent(1024)),
            "r": tensor(size.extent(1024)),
            WHY: "a matrix of its first column and row, as a convolution written out",
        },
    ],
    "scipy.sparse.linalg.cg": iterative("a Gaussian process with many points"),
    **dict.fromkeys(
        ("scipy.sparse.linalg.bicgstab", "scipy.sparse.linalg.gmres"),
        iterative("an implicit step of a simulation"),
    ),
}
"""Configurations by function."""


@FAMILIES.add(*VARIANTS)
def variants(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The configurations of a function in `VARIANTS`."""
    return own(VARIANTS, operator, size)
