"""Figures held against how fast the core was while they were measured.

Assumption: within a block, the logarithm of a figure follows the logarithms of fixed work that was
timed between its calls, along a line whose slopes are the figure's own, and which arm it is makes
no difference to that work. What the line explains is the core's doing and is taken off; what is
left is the operator's.
Source: the analysis of covariance of R. A. Fisher, Statistical Methods for Research Workers (4th
ed., 1932), section 49.1; in controlled experiments A. Deng, Y. Xu, R. Kohavi and T. Walker,
Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data, WSDM
2013.
Breaks when the arms differ in the fixed work itself, as under another interpreter or beside
threads that go on spinning: what is the work's would be taken off the operators. The screen is
tested for that over all its figures, and where they show it nothing is adjusted. A difference that
is smaller than the screen can show, times the slope, stays in the effects.

What is held against the work is the middle mean of the figure's calls and not their median. Where
the core changes its pace while they are taken, a mean of the work and one of the calls have the
same share of it in them; a median jumps from the one pace to the other. A figure of which the work
explains nothing keeps its median.

The slopes come from all processes of a session, with the arms' effects taken out first, and are
then taken for known. The standard error that leaves out their uncertainty is too small by a factor
of about the root of 1 + slopes / freedom: 4 % for a screen of the default length, 10 % in the
shortest session there is, less where blocks were added to confirm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from opperf.compare.statistics.blocks import BLOCK, SIGNS, Floats, by_block, cases_of, effects
from opperf.compare.statistics.common_shift import middle
from opperf.compare.statistics.data import Phase, Replicate
from opperf.compare.statistics.paired_t import estimate, p_beyond
from opperf.model import OWN

PHASES: tuple[Phase, ...] = ("control", "screen", "confirm")

LEAST_FREEDOM = 8
"""Degrees of freedom that are left of a figure's scatter at least: with fewer, a slope may well
take away half of a scatter it has nothing to do with. The shortest session has nine."""

UNALIKE = 0.01
"""Chance that nothing is adjusted though the work is the same in both arms."""


class Adjustment(NamedTuple):
    """What came of holding figures against fixed work."""

    replicates: tuple[Replicate, ...]
    """Adjusted, as far as they can be."""
    explained: float | None
    """Share of the variance within blocks that the work explains, of the median figure; None where
    nothing was adjusted."""
    note: str = ""
    """Why nothing was adjusted, where it might have been."""


def adjusted(replicates: Sequence[Replicate]) -> Adjustment:
    """The replicates with what fixed work explains taken off. As they are where none was timed, or
    where it differs between the arms."""
    named = {name for one in replicates for paces in one.paces.values() for name in paces}
    works = sorted(named - {OWN})
    if not works:
        return Adjustment(tuple(replicates), None)
    unalike = [name for name in works if _differs(replicates, name, UNALIKE / len(works))]
    if unalike:
        note = f"not adjusted for the core's pace: the arms differ in the {unalike[0]} work itself"
        return Adjustment(tuple(replicates), None, note)
    cases = cases_of(replicates)
    phases = [_centred(replicates, phase, cases, works) for phase in PHASES]
    slopes, explained = _slopes(phases, len(works))
    if np.isnan(explained).all():
        return Adjustment(tuple(replicates), None)
    of_case = dict(zip(cases, slopes, strict=True))
    return Adjustment(
        tuple(_taken_off(one, works, of_case) for one in replicates),
        float(np.nanmedian(explained)),
    )


def _differs(replicates: Iterable[Replicate], work: str, level: float) -> bool:
    """Whether the work itself took longer in one of the arms: a test over all of the screen."""
    of_work = [
        msgspec.structs.replace(
            one, values={case: paces[work] for case, paces in one.paces.items() if work in paces}
        )
        for one in replicates
    ]
    (p,) = p_beyond(estimate(middle(effects(of_work, "screen", cases_of(of_work)))), 0.0)
    return bool(p <= level)


class _Centred(NamedTuple):
    """What figures and work do within the blocks of a phase, apart from what the arms make of it.
    0 where a block is not complete."""

    values: Floats
    """By block, process and figure."""
    paces: Floats
    """By block, process, figure and work."""
    freedom: Floats
    """By figure: the degrees of freedom of its values."""


def _centred(
    replicates: Iterable[Replicate], phase: Phase, cases: Sequence[str], works: Sequence[str]
) -> _Centred:
    blocks = [
        [members[position] for position in sorted(members)]
        for members in by_block(replicates, phase).values()
        if len(members) == BLOCK
    ]
    names = (OWN, *works)
    logs = np.array(
        [
            [
                [[one.paces.get(case, {}).get(name, np.nan) for name in names] for case in cases]
                for one in block
            ]
            for block in blocks
        ]
    ).reshape(len(blocks), BLOCK, len(cases), len(names))
    values, paces = logs[..., 0], logs[..., 1:]
    known = ~(np.isnan(values).any(axis=1) | np.isnan(paces).any(axis=(1, 3)))
    values = np.where(known[:, None], values - values.mean(axis=1, keepdims=True), 0.0)
    paces = np.where(known[:, None, :, None], paces - paces.mean(axis=1, keepdims=True), 0.0)
    n = known.sum(axis=0).astype(np.float64)
    freedom = (BLOCK - 1) * n
    if phase != "control":
        # In the control both arms are A, and there is no effect to take out.
        signs = np.array([[SIGNS[one.arm] for one in block] for block in blocks])
        signs = signs.reshape(len(blocks), BLOCK)[:, :, None] * known[:, None]
        size = np.maximum(BLOCK * n, 1.0)
        values = values - signs * ((signs * values).sum(axis=(0, 1)) / size)
        means = (signs[..., None] * paces).sum(axis=(0, 1)) / size[:, None]
        paces = paces - signs[..., None] * means
        freedom = freedom - (n > 0)
    return _Centred(values, paces, freedom)


def _slopes(phases: Iterable[_Centred], works: int) -> tuple[Floats, Floats]:
    """The slopes of each figure, 0 where the work explains none of its scatter; and the share of
    its variance that is explained, NaN where there is none or too few processes to tell."""
    among, along, total, freedom = (
        sum(parts)
        for parts in zip(
            *(
                (
                    np.einsum("bpfk,bpfl->fkl", one.paces, one.paces),
                    np.einsum("bpfk,bpf->fk", one.paces, one.values),
                    np.einsum("bpf,bpf->f", one.values, one.values),
                    one.freedom,
                )
                for one in phases
            ),
            strict=True,
        )
    )
    slopes = np.einsum("fkl,fl->fk", np.linalg.pinv(among, hermitian=True), along)
    rest = total - np.einsum("fk,fk->f", slopes, along)
    left = freedom - works
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = 1.0 - (rest / left) / (total / freedom)
    explained[left < LEAST_FREEDOM] = np.nan
    slopes[~(explained > 0.0)] = 0.0
    return slopes, np.maximum(explained, 0.0)


def _taken_off(one: Replicate, works: Sequence[str], slopes: Mapping[str, Floats]) -> Replicate:
    """A replicate without what the work explains. A figure without its work is left out where the
    others are adjusted: it is not comparable with them."""
    values: dict[str, float] = {}
    for case, value in one.values.items():
        paces = one.paces.get(case, {})
        if not slopes[case].any():
            values[case] = value
        elif all(name in paces for name in (OWN, *works)):
            line = sum(slope * paces[work] for slope, work in zip(slopes[case], works, strict=True))
            values[case] = float(paces[OWN] - line)
    return msgspec.structs.replace(one, values=values)
