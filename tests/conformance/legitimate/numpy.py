"""Findings of NumPy's cases that are no faults."""

from tests.conformance.exceptions import Exempt
from tests.conformance.judging import (
    CONSTANT,
    CONSTANT_INPUT,
    EQUAL_EXTENTS,
    INTEGERS,
    MASK,
    NOT_FINITE,
    OTHER_NUMBERS,
    WITHOUT_IMAGINARY_PART,
)
from tests.conformance.reasons import BY_CHANCE, CREATION, EQUAL, INTEGER_VALUES, SIGN, UNWRITTEN

TABLE = (
    Exempt(CONSTANT, CREATION, "full full_like ones ones_like zeros zeros_like"),
    Exempt(CONSTANT, UNWRITTEN, "empty empty_like", sometimes=True),
    Exempt(CONSTANT, SIGN, "linalg.slogdet", place="output[[]0]"),
    Exempt(CONSTANT_INPUT, EQUAL, "allclose array_equal array_equiv"),
    Exempt(CONSTANT_INPUT, EQUAL, "all any", sometimes=True),
    Exempt(INTEGERS, BY_CHANCE, "all any", sometimes=True),
    Exempt(
        MASK,
        "equal texts, which are compared to their ends",
        "char.equal char.greater char.greater_equal char.less char.less_equal char.not_equal "
        "compare_chararrays",
    ),
    Exempt(EQUAL_EXTENTS, "the order alone is computed, of any extents", "einsum_path"),
    Exempt(OTHER_NUMBERS, "the bits of its dtype", "random.Generator.random"),
    Exempt(
        OTHER_NUMBERS,
        "arrays of good and bad ones, which sum to the lot",
        "random.Generator.hypergeometric random.hypergeometric",
    ),
)

BY_DTYPE = {
    "complex64": (
        Exempt(WITHOUT_IMAGINARY_PART, UNWRITTEN, "empty empty_like", sometimes=True),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            CREATION,
            "eye full full_like geomspace identity linspace logspace ones ones_like "
            "piecewise tri zeros zeros_like",
        ),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            INTEGER_VALUES,
            "intersect1d setdiff1d setxor1d trim_zeros union1d unique",
        ),
        Exempt(MASK, "few elements, of which none is drawn as missing", "isnan"),
        Exempt(NOT_FINITE, "exponentials of angles that are imaginary", "cos sin"),
        Exempt(WITHOUT_IMAGINARY_PART, "edges of bins, which are real", "histogram histogramdd"),
        Exempt(WITHOUT_IMAGINARY_PART, "a norm, in the dtype of the matrix", "linalg.cond"),
        Exempt(WITHOUT_IMAGINARY_PART, "the sign of the real part, before NumPy 2", "sign"),
    )
}
"""Findings in other dtypes than float32."""

FINITE_AT_TIMES = "empty empty_like"
"""Functions that may return NaN or infinity, and do so by chance: memory that is not written."""
