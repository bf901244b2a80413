"""How much the results of A and B may differ, by their precision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.dtypes import kind_of
from opperf.model import Case, Tolerance
from opperf.model.declaring import OFF


class Precision(NamedTuple):
    """Tolerance of results of a dtype, as shares."""

    of_element: float
    """Of A's element."""
    of_largest: float
    """Of the largest element of the tensor: what is left of terms that cancel has the error of the
    terms."""
    of_all: float
    """Of the largest element of all outputs, or of all gradients: a gradient that is zero but for
    rounding, like that of a bias before a batch normalisation, has the error of the others."""


PRECISIONS: dict[str, Precision] = {
    "float64": Precision(1e-7, 1e-8, 1e-12),
    "float32": Precision(1e-4, 1e-5, 1e-6),
    "float16": Precision(4e-3, 2e-3, 1e-3),
    "bfloat16": Precision(3e-2, 2e-2, 8e-3),
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), Precision(0.5, 0.25, 0.13)),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), Precision(1.0, 0.5, 0.25)),
}
"""By dtype, from the finest. In less than single precision, the error is four, two and one times
the distance of two numbers (2**-10 of float16, 2**-7 of bfloat16): sums are in single precision,
and inputs, steps and results are each rounded once. Of single precision, 1e-7, it is a thousand
times that, and a hundred and ten: sums of ten thousand terms in another order, fast exponentials
and the condition of matrices make it so. In double precision, 2e-16, series compute some functions
to 1e-8."""

ORDER = tuple(PRECISIONS)
"""Dtypes from the finest to the coarsest."""

OF_COMPLEX = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}
OF_PYTHON = {"float": "float64", "complex": "float64"}


def real_dtype(name: str) -> str:
    """Returns the dtype of the parts of complex numbers, or that of a Python number; any other name
    as it is."""
    return OF_COMPLEX.get(name) or OF_PYTHON.get(name, name)


def coarsest(names: Iterable[str]) -> str | None:
    """Returns the floating-point dtype of the lowest precision; None without one."""
    found = [dtype for dtype in map(real_dtype, names) if dtype in PRECISIONS]
    return max(found, key=ORDER.index, default=None)


def dtypes_of(case: Case) -> list[str]:
    """Returns the dtypes that decide the precision of a case's results: those of its tensors and of
    its mixed precision."""
    names = [spec.dtype for _, spec in case.tensors()]
    return [*names, *([case.settings.autocast] if case.settings.autocast != OFF else [])]


def is_real_or_complex(name: str) -> bool:
    """Whether numbers of a dtype are rounded."""
    return kind_of(name) in ("float", "complex") or name in OF_PYTHON


def bounds(tolerance: Tolerance, dtype: str, largest: float, of_all: float) -> tuple[float, float]:
    """Returns the relative and the absolute error that elements of a precision may have; `largest`
    is the largest finite element of A's tensor, `of_all` that of its outputs or gradients."""
    usual = PRECISIONS[dtype]
    relative = usual.of_element if tolerance.rtol is None else tolerance.rtol
    absolute = usual.of_largest * largest + usual.of_all * of_all
    return relative, absolute if tolerance.atol is None else tolerance.atol
