"""Formulas of products of matrices, and of factorisations by the leading terms of LAPACK Working
Note 41 and of Golub and Van Loan. A multiplication and an addition are two operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opperf.operations.work.sizes import Count, Formula, Sizes, as_forward, by_factor, listed

Shape = tuple[int, ...]

SOFTMAX_FLOPS = 5
"""The maximum, a difference, an exponential, a sum and a quotient of each element."""


def product_flops(x: Shape, y: Shape) -> float:
    """Operations of a product of matrices or vectors, stacks of them broadcast."""
    left = x if len(x) > 1 else (1, *x)
    right = y if len(y) > 1 else (*y, 1)
    rank = max(len(left), len(right)) - 2
    stacks = [(1,) * (rank + 2 - len(shape)) + shape[:-2] for shape in (left, right)]
    stack = math.prod(max(pair) for pair in zip(*stacks, strict=True))
    return float(2 * stack * left[-2] * left[-1] * right[-1])


def _product(call: Sizes) -> float:
    shapes = []
    for role in ("x", "y"):
        shape = call.shape(role)
        transposed = len(shape) > 1 and call.get(f"transpose_{role}")
        shapes.append((*shape[:-2], shape[-1], shape[-2]) if transposed else shape)
    return product_flops(*shapes)


def product(count: Count, *factors: str) -> Formula:
    """A product, whose addend is added to each element of the result."""

    def added(call: Sizes) -> int:
        return call.result if call.size("addend") + call.size("bias") else 0

    def backward(call: Sizes, forward: float) -> float | None:
        return by_factor(*(factors or ("x", "y")))(call, forward - added(call))

    return Formula(lambda call: count(call) + added(call), backward)


def _columns(shape: Shape, axis: int = -1) -> int:
    """Elements of an array beside those along one axis, or the only one."""
    return math.prod(shape) // max(1, shape[axis if len(shape) > 1 else -1])


def _dot(call: Sizes) -> float:
    """NumPy's product of the last axis with the last but one; numbers multiply each element."""
    x, y = call.shape("x"), call.shape("y")
    return 2.0 * math.prod(x) * _columns(y, -2) if x and y else float(call.result)


def _tensordot(call: Sizes) -> float:
    axes, y = call.get("axes", 2), call.shape("y")
    inner = y[:axes] if isinstance(axes, int) else [y[axis] for axis in listed(axes[1])]
    return 2.0 * call.size("x") * (math.prod(y) // max(1, math.prod(inner)))


def _einsum(call: Sizes) -> float:
    """For each combination of indices a product for each further array, and an addition if the
    result lacks some index."""
    words, arrow, result = str(call.get("subscripts")).replace(" ", "").partition("->")
    extents: dict[str, int] = {}
    for word, array in zip(words.split(","), call.get("tensors"), strict=True):
        free = "".join(chr(ord("\u03b1") + i) for i in range(array.ndim - len(word) + 3))
        for letter, extent in zip(word.replace("...", free), array.shape, strict=True):
            extents[letter] = max(extent, extents.get(letter, 1))
    is_summed = not arrow or any(letter < "\u03b1" and letter not in result for letter in extents)
    return float(math.prod(extents.values()) * (len(call.get("tensors")) - 1 + is_summed))


def _chain(call: Sizes) -> float:
    """The cheapest order of multiplying matrices, which may be vectors at both ends."""
    shapes = [matrix.shape for matrix in call.get("matrices")]
    rows = shapes[0] if len(shapes[0]) > 1 else (1, *shapes[0])
    extents = [*rows, *(shape[1] if len(shape) > 1 else 1 for shape in shapes[1:])]
    count = len(shapes)
    least: dict[tuple[int, int], float] = {(i, i): 0.0 for i in range(count)}
    for first, last in ((i, i + width) for width in range(1, count) for i in range(count - width)):
        least[first, last] = min(
            least[first, middle]
            + least[middle + 1, last]
            + 2.0 * extents[first] * extents[middle + 1] * extents[last + 1]
            for middle in range(first, last)
        )
    return least[0, count - 1]


def _attention(call: Sizes) -> float:
    query, key, value = map(call.shape, ("query", "key", "value"))
    scores = math.prod(query[:-1]) * key[-2]
    return scores * (2.0 * (query[-1] + value[-1]) + SOFTMAX_FLOPS)


def _power(call: Sizes) -> float:
    """Squarings and products by the binary digits of the exponent."""
    exponent, shape = abs(int(call.get("exponent"))), call.shape("x")
    return max(0, exponent.bit_length() + exponent.bit_count() - 2) * product_flops(shape, shape)


def _interleaved(call: Sizes) -> float:
    """Scores or contexts of queries, keys and values (length, batch, 3 x width)."""
    length, batch, width = call.shape("queries_keys_values")
    return 2.0 * batch * length * length * (width // 3)


def _cross_context(call: Sizes) -> float:
    width = call.shape("keys_values")[2] // 2
    return 2.0 * call.size("attention") * (width // int(call.get("heads")))


def _dense(call: Sizes) -> float:
    return 2.0 * _columns(call.shape("data")) * call.size("weight")


def _slid(call: Sizes) -> float:
    """A product of all pairs; where only whole overlaps count, of the shorter one for each."""
    x, y = call.size("x"), call.size("y")
    return 2.0 * min(x * y, call.result * min(x, y))


def _times_own_transpose(call: Sizes) -> float:
    stack = math.prod(call.shape("x")[:-2])
    return 2.0 * call.size("x") * math.isqrt(call.result // max(1, stack))


def of_matrix(count: Callable[[float, float], float], role: str = "x") -> Count:
    """Operations of each matrix of a stack, from its longer and its shorter side."""

    def counted(call: Sizes) -> float:
        *stack, rows, columns = call.shape(role)
        return math.prod(stack) * count(max(rows, columns), min(rows, columns))

    return counted


def _solved(factoring: Callable[[float, float], float], role: str = "x") -> Formula:
    """A factorisation, and two triangular systems for each right-hand side."""
    return Formula(
        lambda call: (
            of_matrix(factoring, role)(call)
            + 2.0 * call.shape(role)[-1] * call.size("right_hand_side")
        )
    )


def _reflected(call: Sizes) -> float:
    m, n, k = (*call.shape("packed")[-2:], call.shape("scales")[-1])
    return call.size("packed") / max(1, m * n) * _made_of_reflections(m, n, k)


def _reflected_other(call: Sizes) -> float:
    rows, k = call.shape("packed")[-2], call.shape("scales")[-1]
    return call.size("other") / rows * (4.0 * rows * k - 2.0 * k**2)


def _pairs_among(call: Sizes) -> float:
    rows, width = call.shape("x")[-2:]
    return 3.0 * width * rows * (rows - 1) / 2


def _by_norm(by_values: Count, otherwise: Count, *more: Any) -> Formula:
    of_values = (2, -2, "spectral", "nuc", *more)
    return Formula(lambda call: (by_values if call.get("norm") in of_values else otherwise)(call))


def _lu(m: float, n: float) -> float:
    return n**2 * (m - n / 3)


def _qr(m: float, n: float) -> float:
    return 2.0 * n**2 * (m - n / 3)


def _vectors(m: float, n: float) -> float:
    return 14.0 * m * n**2 + 8.0 * n**3


def _svd(call: Sizes) -> float:
    """Singular values and as many vectors, or all vectors of the longer side where there are."""
    has_all = call.result > call.size("x")
    return of_matrix(
        lambda m, n: 4.0 * m**2 * n + 8.0 * m * n**2 + 9.0 * n**3 if has_all else _vectors(m, n)
    )(call)


def _made_of_reflections(rows: float, columns: float, k: float) -> float:
    return 4.0 * rows * columns * k - 2.0 * (rows + columns) * k**2 + 4.0 / 3 * k**3


def _qr_with_vectors(call: Sizes, rows: int, columns: int) -> float:
    """The factorisation, and the orthogonal factor: as many columns as the shorter side, or all."""
    k, stack = min(rows, columns), call.size("x") / max(1, rows * columns)
    has_all = call.result > call.size("x")
    return stack * (
        _qr(max(rows, columns), k) + _made_of_reflections(rows, rows if has_all else k, k)
    )


def _least_squares(call: Sizes) -> float:
    """A factorisation, and for each right-hand side the reflections and a triangular system."""
    *_, rows, columns = call.shape("x")
    long, short = max(rows, columns), min(rows, columns)
    right = call.size("right_hand_side") / max(1, rows)
    return of_matrix(_qr)(call) + right * (4.0 * long * short - short**2)


def _cubes(share: float) -> Formula:
    """Operations for each cube of the side."""
    return Formula(of_matrix(lambda m, n: share * n**3))


LU = Formula(of_matrix(_lu))
VALUES = Formula(of_matrix(lambda m, n: 4.0 * m * n**2 - 4.0 / 3 * n**3))
TRIANGULAR = product(lambda call: float(call.size("x") * call.shape("triangle")[-1]))

FORMULAS: dict[str, Formula] = {
    "matrix_product": product(_product),
    **dict.fromkeys(
        ("scaled_matrix_product", "sampled_matrix_product", "scaled_sum_of_products"),
        product(_product),
    ),
    "dot": product(_dot),
    "inner_product": product(lambda call: 2.0 * call.size("x") * _columns(call.shape("y"))),
    **dict.fromkeys(
        ("vector_dot", "vector_products"),
        product(lambda call: 2.0 * max(call.size("x"), call.size("y"))),
    ),
    **dict.fromkeys(("convolve", "correlate"), product(_slid)),
    **dict.fromkeys(
        ("correlation_coefficients", "covariance"),
        Formula(lambda call: 2.0 * call.size("x") * call.shape("x")[0]),
    ),
    "matrix_times_own_transpose": Formula(_times_own_transpose, as_forward),
    "tensordot": product(_tensordot),
    "einsum": Formula(_einsum, lambda call, forward: forward * call.differentiated),
    "matrix_product_chain": Formula(_chain),
    "matrix_power": Formula(_power),
    # The scores are computed again, and there are five products in place of two.
    "attention": Formula(_attention, lambda call, forward: 2.5 * forward),
    # Both factors are parts of one input.
    **dict.fromkeys(
        ("self_attention_scores", "self_attention_context"),
        Formula(_interleaved, lambda call, forward: 2 * forward),
    ),
    "cross_attention_scores": product(
        lambda call: 2.0 * call.size("queries") * call.shape("keys_values")[0],
        "queries",
        "keys_values",
    ),
    "cross_attention_context": product(_cross_context, "keys_values", "attention"),
    "dense": product(_dense, "data", "weight"),
    "convolution": product(
        lambda call: 2.0 * call.result * math.prod(call.shape("weight")[1:]), "data", "weight"
    ),
    "deconvolution": product(
        lambda call: 2.0 * call.size("data") * math.prod(call.shape("weight")[1:]), "data", "weight"
    ),
    "triangular_product": TRIANGULAR,
    "triangular_solution": TRIANGULAR,
    **dict.fromkeys(("cholesky", "ldl_packed"), _cubes(1 / 3)),
    **dict.fromkeys(
        ("determinant", "log_determinant", "sign_and_log_determinant", "lu", "lu_packed"), LU
    ),
    "qr_packed": Formula(of_matrix(_qr)),
    "qr": Formula(lambda call: _qr_with_vectors(call, *call.shape("x")[-2:])),
    "lq": Formula(lambda call: _qr_with_vectors(call, *call.shape("x")[:-3:-1])),
    "eigenvalues_of_symmetric": _cubes(4 / 3),
    **dict.fromkeys(("eigenvectors_of_symmetric", "eigenvectors_in_rows"), _cubes(9)),
    "eigenvalues": _cubes(10),
    "eigenvectors": _cubes(25),
    **dict.fromkeys(("singular_values", "nuclear_norm", "matrix_rank"), VALUES),
    **dict.fromkeys(("svd", "svd_in_columns"), Formula(_svd)),
    # The product of the vectors too.
    "pseudo_inverse": Formula(of_matrix(lambda m, n: _vectors(m, n) + 2.0 * m * n**2)),
    "inverse": _cubes(2),
    "inverse_from_cholesky": _cubes(2 / 3),
    # Six products of the thirteenth approximant and a system, without squarings.
    "matrix_exponential": _cubes(2 * 6 + 8 / 3),
    "solve": _solved(_lu),
    "solution_from_cholesky": _solved(lambda m, n: 0.0),
    "solution_from_lu": _solved(lambda m, n: 0.0, "packed"),
    "solution_from_ldl": _solved(lambda m, n: 0.0, "packed"),
    "least_squares": Formula(_least_squares),
    "tensor_inverse": Formula(lambda call: 2.0 * call.size("x") ** 1.5),
    "tensor_solve": Formula(lambda call: 2 / 3 * call.size("x") ** 1.5 + 2.0 * call.size("x")),
    "householder_product": Formula(_reflected),
    "householder_times": Formula(_reflected_other),
    "condition_number": _by_norm(VALUES.flops, _cubes(2).flops, None),
    "matrix_norm": _by_norm(VALUES.flops, lambda call: float(call.size("x"))),
    # A difference, its power and a sum for each pair of elements.
    "pairwise_distances": Formula(
        lambda call: 3.0 * call.size("x") * call.shape("y")[-2],
        lambda call, forward: forward * call.with_gradient("x", "y"),
    ),
    "distances_among": Formula(_pairs_among, as_forward),
}
"""Formulas by operation."""
