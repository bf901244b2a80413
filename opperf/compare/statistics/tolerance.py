"""Figures that are the same on every run: bytes, counts.

Assumption: measured again, the same build gives the same figure, but for what the tolerance
allows. One figure of each side is then all there is to know, no test is needed, and two files
that were written apart give a verdict.
Source: none; a figure without noise is compared, not tested.
Breaks when the figure does have noise (memory of a framework that keeps workspace between
operators, counts in a program with threads): such a figure is beyond the tolerance by chance.
"""

from __future__ import annotations

import math

from opperf.compare.statistics.data import CaseVerdict, Verdict
from opperf.model import Struct


class Tolerance(Struct, frozen=True):
    """What two figures may differ by and still be the same: the larger of the two allowances."""

    relative: float
    """Share of A's figure."""
    absolute: float
    """In the figure's unit."""


TOLERANCES = {
    "B": Tolerance(relative=0.01, absolute=4096.0),
    "instructions": Tolerance(relative=0.005, absolute=1000.0),
}
"""By unit. Bytes: the page is what allocators round to, and a hundredth is less than any tensor
that is made or saved weighs. Instructions: a hash seed or an address decides over a few more turns
of a loop; half a percent is more than that and less than a changed kernel."""

EXACT = Tolerance(relative=0.0, absolute=0.0)
"""Of any other unit: a count."""


def compare_figures(case: str, a: float, b: float, unit: str) -> CaseVerdict:
    """Regressed if B's figure is larger than A's by more than the tolerance of the unit, improved
    if it is smaller by more, else the same. The effect is None where a figure is zero.

    Raises `ValueError` for figures that are negative or not finite.
    """
    if not (math.isfinite(a) and math.isfinite(b)) or min(a, b) < 0:
        raise ValueError(f"{case}: {a} and {b} {unit} cannot be compared")
    tolerance = TOLERANCES.get(unit, EXACT)
    allowed = max(tolerance.absolute, tolerance.relative * a)
    verdict = Verdict.SAME
    if abs(b - a) > allowed:
        verdict = Verdict.REGRESSED if b > a else Verdict.IMPROVED
    effect = math.log(b / a) if a and b else None
    return CaseVerdict(case, verdict, effect, effect, effect)
