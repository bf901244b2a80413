"""Figures held against how fast the core was."""

import msgspec
import numpy as np
import pytest

from opperf.compare.statistics.blocks import effects
from opperf.compare.statistics.covariates import adjusted
from opperf.compare.statistics.data import Replicate, Rules
from opperf.compare.statistics.design import block_order
from opperf.compare.statistics.verdicts import analyse, candidates
from opperf.model import OWN

WORKS = ("one", "other")
CASES = [f"case{number:02d}" for number in range(40)]
SLOPES = {case: (0.3 + number / 20, 1.5 - number / 40) for number, case in enumerate(CASES)}
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
            values, paces = {}, {}
            for case in CASES:
                pace = rng.normal(0, PACE_SD, len(WORKS))
                own = rng.normal(0, OWN_SD) + (effect if in_b else 0.0)
                values[case] = float(own + np.dot(slopes[case], pace))
                paces[case] = {OWN: values[case]} | {
                    work: float(speed + (work_effect if in_b else 0.0))
                    for work, speed in zip(WORKS, pace, strict=True)
                }
            made.append(Replicate(name, block, position, arm, values, paces))
    return made


def scatter(replicates, name):
    return effects(replicates, name, CASES).values.std(axis=1)


def without_paces(replicates):
    return [msgspec.structs.replace(one, paces={}) for one in replicates]


def test_what_the_core_did_is_taken_off_and_what_the_arm_did_is_not():
    session = phase("control", 4) + phase("screen", 6, effect=0.05)
    found = adjusted(session)
    assert found.note == "" and found.explained > 0.99
    # Two slopes are estimated from forty processes: little more than the figures' own scatter.
    assert np.median(scatter(found.replicates, "screen")) < 1.5 * OWN_SD
    assert np.median(scatter(session, "screen")) > 10 * OWN_SD
    means = effects(found.replicates, "screen", CASES).values.mean(axis=1)
    assert np.abs(means - 0.05).max() < 5 * OWN_SD
    assert abs(means.mean() - 0.05) < OWN_SD


def test_a_verdict_that_is_hidden_without_it():
    session = phase("control", 4) + phase("screen", 6, effect=0.05)
    session += phase("confirm", 12, effect=0.05)
    with_it, without = (analyse(one, Rules()) for one in (session, without_paces(session)))
    assert {one.verdict.value for one in with_it.verdicts} == {"regressed"}
    assert with_it.floor < 0.01 and with_it.explained > 0.99
    assert without.floor > 0.05 and without.explained is None
    assert "regressed" not in {one.verdict.value for one in without.verdicts}


def test_confirm_blocks_change_nothing_of_what_was_decided_before_them():
    before = phase("control", 4) + phase("screen", 6, effect=0.002)
    # A slope that is another one from then on.
    later = phase("confirm", 12, slopes=dict.fromkeys(CASES, (3.0, -1.0)))
    chosen = candidates(before, Rules())
    assert 0 < len(chosen) < len(CASES)
    assert candidates(before + later, Rules()) == chosen
    assert analyse(before + later, Rules()).floor == analyse(before, Rules()).floor


def test_work_that_differs_between_the_arms_takes_nothing_off():
    session = phase("control", 4) + phase("screen", 6, work_effect=0.2)
    found = adjusted(session)
    assert found.replicates == tuple(session) and found.explained is None
    assert "the arms differ in the interpreter work" not in found.note
    assert found.note.startswith("not adjusted for the core's pace: the arms differ in the one")


def test_work_that_has_nothing_to_do_with_a_figure_is_left_alone():
    unrelated = dict.fromkeys(CASES, (0.0, 0.0))
    session = phase("control", 4, slopes=unrelated) + phase("screen", 6, slopes=unrelated)
    found = adjusted(session)
    assert found.explained < 0.05
    raw = np.median(scatter(session, "screen"))
    assert np.median(scatter(found.replicates, "screen")) == pytest.approx(raw, rel=0.1)


def test_sessions_without_work_and_with_too_few_processes():
    session = phase("control", 2)
    assert adjusted(without_paces(session)).replicates == tuple(without_paces(session))
    # Two blocks have six degrees of freedom, less two slopes.
    assert adjusted(session).explained is None
    assert adjusted(session).replicates == tuple(session)
    assert adjusted([]).replicates == ()


def test_a_figure_without_its_work_is_left_out_where_the_rest_is_adjusted():
    session = phase("control", 4) + phase("screen", 6)
    paces = {case: paces for case, paces in session[0].paces.items() if case != "case07"}
    session[0] = msgspec.structs.replace(session[0], paces=paces)
    found = adjusted(session).replicates
    assert "case07" not in found[0].values and "case08" in found[0].values
    assert "case07" in found[1].values


def test_false_findings_are_as_rare_as_without():
    flagged = 0
    for seed in range(20):
        session = phase("control", 4, seed=seed) + phase("screen", 6, seed=seed)
        session += phase("confirm", 12, seed=seed)
        analysis = analyse(session, Rules())
        flagged += sum(one.verdict.value in ("regressed", "improved") for one in analysis.verdicts)
    assert flagged <= 1
