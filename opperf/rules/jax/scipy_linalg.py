"""Families of JAX's linear algebra that no other framework has in this form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from opperf.model import Argument, Function, Operator, TensorSpec
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
from opperf.rules.values import LOWER_TRIANGULAR, POSITIVE, Arguments, fixed, tensor
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


FILTER = 64
"""Weights of a filter of sound."""

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


OF_EXTENT: dict[str, tuple[int | None, str]] = {
    "hadamard": (None, "signs of orthogonal rows, as to rotate activations before quantisation"),
    "helmert": (None, "orthonormal contrasts of categories, as of a regression"),
    "hilbert": (None, "a badly conditioned matrix, on which solvers are tried"),
    # Larger ones have elements that single precision does not.
    "invhilbert": (16, f"the exact inverse that a solver is judged by: {MOSTLY_DISPATCH}"),
    "invpascal": (16, f"differences from sums, as filters of a wavelet: {MOSTLY_DISPATCH}"),
    "pascal": (64, f"binomial coefficients, as filters of a wavelet: {MOSTLY_DISPATCH}"),
}
"""Most rows of square matrices, None for any number, and what they are for."""

OF_VECTOR = {
    "circulant": ("c", "a matrix of its first column, as a circular convolution written out"),
    "companion": ("a", "a polynomial's matrix, whose eigenvalues are the roots"),
    "fiedler": ("a", "differences of all pairs, as a kernel of distances"),
    "fiedler_companion": ("a", "a polynomial's matrix in five diagonals"),
    "hankel": ("c", "a matrix of its first column, as of a series for spectral analysis"),
}
"""The vector of square matrices, and what they are for."""


def made_of(argument: str, value: Callable[[int], Argument], why: str) -> Variants:
    """A square matrix, of an argument that a number of rows gives."""
    return lambda size: [{argument: value(size.extent(1024)), WHY: why}]


def at_most(most: int | None, rows: int) -> int:
    """A number of rows, no more than that if there is one."""
    return min(rows, most or rows)


def coefficients(rows: int) -> TensorSpec:
    """A vector away from zero, as companions divide by its first element."""
    return tensor(rows, fill=POSITIVE)


VARIANTS: dict[str, Variants] = {
    **{
        f"scipy.linalg.{name}": made_of("n", partial(at_most, most), why)
        for name, (most, why) in OF_EXTENT.items()
    },
    **{
        f"scipy.linalg.{name}": made_of(vector, coefficients, why)
        for name, (vector, why) in OF_VECTOR.items()
    },
    "scipy.linalg.convolution_matrix": lambda size: [
        {
            "a": tensor(FILTER),
            "n": size.extent(1024),
            WHY: "a filter written out, as to fit one to a signal by least squares",
        }
    ],
    "scipy.linalg.dft": lambda size: [
        {
            "n": size.extent(1024),
            "dtype": "complex64",
            WHY: "a discrete Fourier transform as a product, as a TPU takes one",
        }
    ],
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
    "scipy.linalg.leslie": lambda size: [
        {
            "f": tensor(size.extent(1024), fill=POSITIVE),
            "s": tensor(size.extent(1024) - 1, fill=POSITIVE),
            WHY: "births and survivals by age, as a population's next year",
        }
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
    "scipy.linalg.qr_multiply": lambda size: [
        {
            "a": tensor(*matrix_to_diagonalise(size)),
            "c": tensor(SIDES, matrix_to_diagonalise(size)[0]),
            WHY: "a few rows times the orthogonal factor, which is never multiplied out",
        }
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
    "scipy.linalg.solve_sylvester": lambda size: [
        {
            # Sums of their eigenvalues are positive, so that there is one solution.
            "A": definite(matrix_to_step_through(size)),
            "B": definite(matrix_to_step_through(size)),
            "C": tensor(*matrix_to_step_through(size)),
            WHY: "Sylvester's equation by Schur forms, as of a linear system's covariance",
        }
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
