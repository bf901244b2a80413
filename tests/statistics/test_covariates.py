"""Figures held against how fast the core was."""

import msgspec
import numpy as np
import pytest
from scipy import optimize

from opperf.model import OWN
from opperf.statistics.blocks import effects
from opperf.statistics.covariates import ARM_EFFECT_LEVEL, MOST_SLOPE, adjust
from opperf.statistics.data import Replicate, Thresholds
from opperf.statistics.design import block_order
from opperf.statistics.verdicts import analyse

WORKS = ("one", "other")
CASES = [f"case{number:02d}" for number in range(40)]
SLOPES = {case: (0.3 + number / 25, 1.5 - number / 40) for number, case in enumerate(CASES)}
PACE_SD = 0.15
"""What a core's speed changes by from one visit to the next."""
OWN_SD = 0.004


def phase(name, blocks, effect=0.0, work_effect=0.0, seed=0, slopes=SLOPES):
    """Blocks in which B takes longer by `effect`, and the fixed work in it by `work_effect`."""
    rng = np.random.default_rng([seed, *name.encode()])
    made = []
    for block in range(blocks):
        for position, arm in enumerate(block_order(seed, name, block)):
            in_b = arm == "B" and name != "control"
            values, reference = {}, {}
            for case in CASES:
                pace = rng.normal(0, PACE_SD, len(WORKS))
                own = rng.normal(0, OWN_SD) + (effect if in_b else 0.0)
                values[case] = float(own + np.dot(slopes[case], pace))
                reference[case] = {OWN: values[case]} | {
                    work: float(speed + (work_effect if in_b else 0.0))
                    for work, speed in zip(WORKS, pace, strict=True)
                }
            made.append(Replicate(name, block, position, arm, values, reference))
    return made


def scatter(replicates, name):
    return effects(replicates, name, CASES).values.std(axis=1)


def without_paces(replicates):
    return [msgspec.structs.replace(one, reference={}) for one in replicates]


def test_what_the_core_did_is_taken_off_and_what_the_arm_did_is_not():
    session = phase("control", 4) + phase("comparison", 6, effect=0.05)
    found = adjust(session, ARM_EFFECT_LEVEL)
    assert found.note == "" and found.explained > 0.99
    # Two slopes are estimated from forty processes: little more than the figures' own scatter.
    assert np.median(scatter(found.replicates, "comparison")) < 1.5 * OWN_SD
    assert np.median(scatter(session, "comparison")) > 10 * OWN_SD
    means = effects(found.replicates, "comparison", CASES).values.mean(axis=1)
    assert np.abs(means - 0.05).max() < 5 * OWN_SD
    assert abs(means.mean() - 0.05) < OWN_SD


def test_a_verdict_that_is_hidden_without_it():
    session = phase("control", 2) + phase("comparison", 12, effect=0.05)
    with_it, without = (analyse(one, Thresholds()) for one in (session, without_paces(session)))
    assert {one.verdict.value for one in with_it.verdicts} == {"regressed"}
    assert with_it.explained > 0.99 and without.explained is None
    assert "regressed" not in {one.verdict.value for one in without.verdicts}


def test_later_blocks_change_nothing_of_what_was_decided_before_them():
    before = phase("control", 2) + phase("comparison", 4, effect=0.05)
    # Slopes that are others from then on, and no effect.
    later = phase("comparison", 6, seed=1, slopes=dict.fromkeys(CASES, (3.0, -1.0)))
    first = analyse(before, Thresholds())
    decided = {one.case: one for one in first.verdicts if one.verdict == "regressed"}
    assert len(decided) > 10
    second = analyse(before + [one for one in later if one.block >= 4], Thresholds())
    assert second.looks == 2
    after = {one.case: one for one in second.verdicts if one.case in decided}
    for case, one in decided.items():
        assert (after[case].effect, after[case].p) == (one.effect, one.p)
        assert (after[case].verdict, after[case].n_blocks) == ("regressed", 4)


def test_work_that_differs_between_the_arms_takes_nothing_off():
    session = phase("control", 4) + phase("comparison", 6, work_effect=0.2)
    found = adjust(session, ARM_EFFECT_LEVEL)
    assert found.replicates == tuple(session) and found.explained is None
    assert "the interpreter work" not in found.note
    assert found.note.startswith("not adjusted for the core's speed: the one work differs")


def test_work_that_has_nothing_to_do_with_a_figure_is_left_alone():
    unrelated = dict.fromkeys(CASES, (0.0, 0.0))
    session = phase("control", 4, slopes=unrelated) + phase("comparison", 6, slopes=unrelated)
    found = adjust(session, ARM_EFFECT_LEVEL)
    assert found.explained < 0.05
    raw = np.median(scatter(session, "comparison"))
    assert np.median(scatter(found.replicates, "comparison")) == pytest.approx(raw, rel=0.1)


def test_sessions_without_work_and_with_too_few_processes():
    session = phase("control", 2)
    assert adjust(without_paces(session), ARM_EFFECT_LEVEL).replicates == tuple(
        without_paces(session)
    )
    # Two blocks have six degrees of freedom, less two slopes.
    assert adjust(session, ARM_EFFECT_LEVEL).explained is None
    assert adjust(session, ARM_EFFECT_LEVEL).replicates == tuple(session)
    assert adjust([], ARM_EFFECT_LEVEL).replicates == ()


def test_a_figure_without_its_work_is_left_out_where_the_rest_is_adjusted():
    session = phase("control", 4) + phase("comparison", 6)
    reference = {case: one for case, one in session[0].reference.items() if case != "case07"}
    session[0] = msgspec.structs.replace(session[0], reference=reference)
    found = adjust(session, ARM_EFFECT_LEVEL).replicates
    assert "case07" not in found[0].values and "case08" in found[0].values
    assert "case07" in found[1].values


def test_what_is_taken_off_is_what_least_squares_say():
    """Against the regressions by their design matrices: a level for each block, an effect of the
    arm for each phase, and the work, whose slopes are bounded."""
    session = phase("control", 3) + phase("comparison", 4, effect=0.1)
    rng = np.random.default_rng(8)
    cases = CASES[:5]
    made = []
    for one in session:
        # Scatter of its own, so that the work explains some of it, and from case to case less.
        own = {c: one.values[c] + rng.normal(0, 0.1 * n) for n, c in enumerate(cases)}
        reference = {c: one.reference[c] | {OWN: own[c]} for c in cases}
        values = {c: own[c] + rng.normal(0, 0.01) for c in cases}
        if (one.phase, one.block) == ("comparison", 3):
            # A case that was decided.
            del values[cases[1]], reference[cases[1]]
        if (one.phase, one.block, one.position) == ("comparison", 1, 2):
            # A case that failed once: nothing is known of its block.
            del values[cases[2]], reference[cases[2]]
        if (one.phase, one.block, one.position) == ("control", 1, 0):
            # A case beside which one of the works was not timed: no more is known of its block.
            del reference[cases[3]][WORKS[0]]
        made.append(msgspec.structs.replace(one, values=values, reference=reference))
    # A block that was not finished.
    unfinished = phase("comparison", 5, effect=-0.2)[16:19]
    made += [
        msgspec.structs.replace(
            one,
            values={c: one.values[c] for c in cases},
            reference={c: one.reference[c] for c in cases},
        )
        for one in unfinished
    ]

    def rest(matrix, figures):
        return figures - matrix @ np.linalg.lstsq(matrix, figures, rcond=None)[0]

    found = adjust(made, ARM_EFFECT_LEVEL)
    unknown = {(cases[2], "comparison", 1), (cases[3], "control", 1)}
    shares = []
    for case in cases:
        known = [
            one
            for one in made[:28]
            if case in one.values and (case, one.phase, one.block) not in unknown
        ]
        blocks = sorted({(one.phase, one.block) for one in known})
        phases = sorted({one.phase for one in known} - {"control"})
        plain = np.array(
            [
                [float((one.phase, one.block) == block) for block in blocks]
                + [float(one.phase == name and one.arm == "B") for name in phases]
                for one in known
            ]
        )
        work = np.array([[one.reference[case][name] for name in WORKS] for one in known])
        own = np.array([one.reference[case][OWN] for one in known])
        freedom = len(known) - plain.shape[1]
        fit = optimize.lsq_linear(rest(plain, work), rest(plain, own), (0.0, MOST_SLOPE))
        slopes = fit.x
        left = 2 * fit.cost / (freedom - len(WORKS))
        shares.append(1 - left / ((rest(plain, own) ** 2).sum() / freedom))
        for before, after in zip(made, found.replicates, strict=True):
            reference = before.reference.get(case, {})
            # What cannot be adjusted is not comparable with what was.
            assert (case in after.values) is (WORKS[0] in reference)
            if WORKS[0] in reference:
                expected = reference[OWN] - np.dot(slopes, [reference[name] for name in WORKS])
                assert after.values[case] == pytest.approx(expected, abs=1e-6)
    assert min(shares) > 0.05
    assert found.explained == pytest.approx(np.median(shares))


def crossing(blocks, name="comparison", **paces_of):
    """Blocks ABBA in which a figure rises and falls once, and B is slower than A by 1."""
    own = np.array([1.0, 2.0, 0.0, -1.0])
    return [
        Replicate(
            name,
            block,
            position,
            arm,
            {"x": float(own[position]) + 0.25},
            {
                "x": {OWN: float(own[position])}
                | {work: float(pace[position]) for work, pace in paces_of.items()}
            },
        )
        for block in range(blocks)
        for position, arm in enumerate("ABBA")
    ]


# At right angles to the figure; and at so little less that it explains a hundredth, which is less
# than chance would of 17 degrees of freedom.
@pytest.mark.parametrize("pace", [[1, -1, 1, -1], [1.1, -0.9, 0.9, -1.1]])
def test_work_that_explains_no_more_than_chance_takes_nothing_off(pace):
    session = crossing(6, one=pace)
    found = adjust(session, ARM_EFFECT_LEVEL)
    assert (found.explained, found.note) == (0.0, "")
    assert found.replicates == tuple(session), "the medians, and not the middle means"


def test_work_that_explains_all_of_a_figure_leaves_the_effect_of_the_arm():
    session = crossing(6, one=[3, 3, -1, -1])
    found = adjust(session, ARM_EFFECT_LEVEL)
    assert found.explained == pytest.approx(1.0)
    # The slope is a half: 1 - 3/2, 2 - 3/2, 0 + 1/2, -1 + 1/2.
    for one in found.replicates:
        assert one.values["x"] == pytest.approx(0.5 if one.arm == "B" else -0.5)


@pytest.mark.parametrize("slopes", [(14.0, -0.3), (-3.2, 1.6), (0.4, 9.0), (-1.0, -1.0)])
def test_no_slope_is_negative_or_large(slopes):
    session = phase("control", 2) + phase("comparison", 6, slopes=dict.fromkeys(CASES, slopes))
    found = adjust(session, ARM_EFFECT_LEVEL).replicates
    bounded = np.clip(slopes, 0.0, MOST_SLOPE)
    for before, after in zip(session[8:], found[8:], strict=True):
        taken = [
            (before.values[case] - after.values[case])
            - np.dot(bounded, [before.reference[case][work] for work in WORKS])
            for case in CASES
        ]
        # Each slope is found beside the rest of the other, which makes noise.
        assert abs(np.median(taken)) < 0.5 * PACE_SD


def test_a_figure_that_never_changes_has_no_share():
    still = [
        msgspec.structs.replace(one, reference={"x": one.reference["x"] | {OWN: 0.0}})
        for one in crossing(6, one=[3, 3, -1, -1])
    ]
    found = adjust(still, ARM_EFFECT_LEVEL)
    assert (found.replicates, found.explained, found.inflation) == (tuple(still), None, {})


# Three degrees of freedom a block, less one for the effect of the arm in those of A and B, less one
# for each work; eight have to be left.
@pytest.mark.parametrize(
    ("control", "comparison", "works", "enough"),
    [(3, 0, 1, True), (3, 0, 2, False), (0, 3, 1, False), (0, 4, 2, True), (2, 2, 2, True)],
)
def test_slopes_need_eight_degrees_of_freedom(control, comparison, works, enough):
    reference = {"one": [3, 3, -1, -1], "other": [1, -1, 1, -1]}
    reference = dict(list(reference.items())[:works])
    session = crossing(control, "control", **reference) + crossing(comparison, **reference)
    assert (adjust(session, ARM_EFFECT_LEVEL).explained is not None) is enough


# A table of Student's t, three degrees of freedom: both tails beyond 5.841 hold 1 %, and beyond
# 7.453 half a percent.
@pytest.mark.parametrize(
    ("works", "t", "differs"),
    [(1, 5.7, False), (1, 6.0, True), (2, 6.0, False), (2, 7.3, False), (2, 7.6, True)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_work_differs_at_one_percent_over_all_works(works, t, differs, sign):
    # Differences of four blocks whose standard error is 1.
    contrasts = sign * t + np.sqrt(3) * np.array([-1, 1, 1, -1])
    session = []
    for block, contrast in enumerate(contrasts):
        reference = {"one": [0, contrast, contrast, 0]}
        if works == 2:
            reference["other"] = [1, -1, 1, -1]
        made = crossing(1, **reference)
        session += [msgspec.structs.replace(one, block=block) for one in made]
    # What the work does in the control is no matter.
    session += crossing(4, "control", **dict.fromkeys(("one", "other")[:works], [0, 9, 9, 0]))
    assert ("the one work" in adjust(session, ARM_EFFECT_LEVEL).note) is differs


def test_variances_make_up_for_the_fit_of_the_slopes():
    session = phase("control", 2) + phase("comparison", 4)
    # Three degrees of freedom a block, less one for the arm; a slope for each of two works.
    found = adjust(session, ARM_EFFECT_LEVEL).inflation
    assert found == dict.fromkeys(CASES, pytest.approx((17 + 2) / (17 - 2)))
    for case, factor in adjust(without_paces(session), ARM_EFFECT_LEVEL).inflation.items():
        assert factor == 1.0, case


def test_the_first_work_that_differs_is_named():
    session = crossing(4, other=[0, 9, 9, 0], one=[0, 9, 9, 0])
    assert "the one work differs" in adjust(session, ARM_EFFECT_LEVEL).note


def test_false_findings_are_as_rare_as_without():
    flagged = 0
    for seed in range(8):
        session = phase("control", 2, seed=seed) + phase("comparison", 12, seed=seed)
        analysis = analyse(session, Thresholds())
        flagged += sum(one.verdict.value in ("regressed", "improved") for one in analysis.verdicts)
    assert flagged <= 1
