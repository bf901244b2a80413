"""From replicates to verdicts."""

import math
import random
from collections import Counter

import msgspec
import numpy as np
import pytest

from opperf.statistics.data import Analysis, Replicate, Thresholds, Verdict
from opperf.statistics.verdicts import analyse, looks_taken, needing_more_blocks

RULES = Thresholds()
LOG = math.log1p
FLAGS = {Verdict.REGRESSED, Verdict.IMPROVED}
CHANGED = {
    **{f"case{number:03d}": LOG(0.10) for number in range(8)},
    **{f"case{number:03d}": -LOG(0.10) for number in range(8, 12)},
}


def by_case(analysis):
    return {one.case: one for one in analysis.verdicts}


def verdicts(analysis):
    return {one.case: one.verdict for one in analysis.verdicts}


@pytest.fixture
def session(noisy, no_effect):
    """Measures a session of all cases up to the cap, or with fewer blocks."""

    def measured(changed, seed=0, sd=0.01, thresholds=RULES, blocks=RULES.block_cap, n_cases=60):
        effect = dict(list({**no_effect, **changed}.items())[:n_cases])
        still = dict.fromkeys(effect, 0.0)
        control = noisy("control", thresholds.control_blocks, still, seed, sd)
        return control + noisy("comparison", blocks, effect, seed, sd)

    return measured


def swap(replicates):
    """Exchanges the arms' names."""
    other = {"A": "B", "B": "A"}
    return [Replicate(r.phase, r.block, r.position, other[r.arm], r.values) for r in replicates]


def stopped(replicates):
    """The session as it is measured: without blocks of cases that are decided before them."""
    kept = replicates
    for n_blocks in RULES.looks:
        early = [one for one in kept if one.phase == "control" or one.block < n_blocks]
        still_open = set(needing_more_blocks(analyse(early, RULES)))
        kept = early + [
            msgspec.structs.replace(
                one, values={case: v for case, v in one.values.items() if case in still_open}
            )
            for one in kept
            if one.phase != "control" and one.block >= n_blocks
        ]
    return kept


def test_changes_are_found_and_nothing_else(session):
    false = found = same = 0
    for seed in range(5):
        analysis = analyse(session(CHANGED, seed), RULES)
        assert analysis.valid and analysis.looks == 4
        for case, verdict in verdicts(analysis).items():
            truth = {1: "regressed", -1: "improved", 0: None}[np.sign(CHANGED.get(case, 0.0))]
            found += truth is not None and verdict == truth
            false += verdict in FLAGS and verdict != truth
            same += truth is None and verdict == Verdict.SAME
    assert found >= 0.95 * 5 * len(CHANGED)
    assert false <= 1
    assert same > 0.9 * 5 * 48


def test_swapping_the_arms_negates_effects_and_verdicts(session):
    replicates = session(CHANGED, sd=0.03)
    there, back = by_case(analyse(replicates, RULES)), by_case(analyse(swap(replicates), RULES))
    mirrored = {"regressed": "improved", "improved": "regressed"}
    assert len(set(verdicts(analyse(replicates, RULES)).values())) > 2
    for case, one in there.items():
        other = back[case]
        assert other.verdict == mirrored.get(one.verdict, one.verdict)
        assert other.effect == pytest.approx(-one.effect)
        assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
        assert (other.p, other.detectable) == pytest.approx((one.p, one.detectable))
        assert other.n_blocks == one.n_blocks


def test_the_order_of_replicates_is_no_matter(session):
    replicates = session(CHANGED, sd=0.03)
    shuffled = random.Random(1).sample(replicates, len(replicates))
    assert analyse(shuffled, RULES) == analyse(replicates, RULES)


def test_a_case_that_is_decided_needs_no_further_blocks(session):
    replicates = session(CHANGED, sd=0.03)
    measured = stopped(replicates)
    assert sum(len(one.values) for one in measured) < sum(len(one.values) for one in replicates)
    found, full = by_case(analyse(measured, RULES)), by_case(analyse(replicates, RULES))
    assert {one.n_blocks for one in found.values()} >= {4, 6, 8}
    for case, one in found.items():
        if one.n_blocks == 4:
            # Decided at the first look, where both sessions are alike.
            assert (one.effect, one.low) == (full[case].effect, full[case].low)


def test_blocks_after_the_latest_look_have_no_part_yet(session):
    replicates = session(CHANGED, sd=0.03)

    def first(blocks, replicates_more=0):
        of = [one for one in replicates if one.phase == "control" or one.block < blocks]
        more = [one for one in replicates if one.phase != "control" and one.block == blocks]
        return of + more[:replicates_more]

    assert looks_taken(first(3, 3), RULES) == 0 and looks_taken(first(12), RULES) == 4
    assert analyse(first(4), RULES) == analyse(first(5, 3), RULES) != analyse(first(6), RULES)
    before = analyse(first(3, 3), RULES)
    assert before.looks == 0 and before.shift is None
    assert {(one.verdict, one.p) for one in before.verdicts} == {(Verdict.AMBIGUOUS, None)}
    assert {one.note for one in before.verdicts} == {"fewer than 4 complete blocks"}
    assert needing_more_blocks(before) == ()


def test_undecided_cases_are_those_that_further_blocks_may_decide(session):
    analysis = analyse(session({"case000": 1.0}, sd=0.03, blocks=4), RULES)
    open_ = {one.case for one in analysis.verdicts if one.verdict == Verdict.AMBIGUOUS}
    assert set(needing_more_blocks(analysis)) == open_ and 0 < len(open_) < 60
    assert "case000" not in open_
    assert list(needing_more_blocks(analysis)) == sorted(open_)


def test_a_common_shift_is_reported_and_stays_in_the_effects(session, no_effect):
    analysis = analyse(session({case: LOG(0.10) for case in no_effect}), RULES)
    assert analysis.valid
    assert analysis.shift.verdict == Verdict.REGRESSED and analysis.shift.n_blocks == 4
    assert analysis.shift.low < LOG(0.10) < analysis.shift.high
    assert set(verdicts(analysis).values()) == {Verdict.REGRESSED}
    assert np.mean([one.effect for one in analysis.verdicts]) == pytest.approx(LOG(0.10), abs=4e-3)


def test_a_figure_without_noise_gives_no_nan(constant):
    a = {"equal": 1.0, "less": 1.0, "more": 1.0}
    b = {"equal": 1.0, "less": 0.9, "more": 1.1}
    analysis = analyse(constant("control", 2, a, a) + constant("comparison", 4, a, b), RULES)
    assert analysis.valid
    assert verdicts(analysis) == {"equal": "same", "less": "improved", "more": "regressed"}
    for one in analysis.verdicts:
        assert np.isfinite([one.effect, one.low, one.high, one.p, one.detectable]).all()


def test_a_figure_without_noise_keeps_its_certainty_beside_noisy_ones(session):
    replicates = [
        msgspec.structs.replace(one, values={**one.values, "count": 0.05})
        for one in session({}, sd=0.1, blocks=4)
    ]
    found = by_case(analyse(replicates, RULES))["count"]
    assert (found.verdict, found.high - found.low) == ("same", pytest.approx(0.0, abs=1e-9))


def test_a_case_that_failed_once_is_judged_by_its_other_blocks(session):
    replicates = [
        msgspec.structs.replace(one, values={**one.values, "case000": float("nan")})
        if one.block == 0 and one.phase != "control"
        else one
        for one in session(CHANGED)
    ]
    found = by_case(analyse(replicates, RULES))["case000"]
    assert found.verdict == Verdict.REGRESSED and found.n_blocks in (3, 5)


@pytest.mark.parametrize("alone", [True, False])
def test_a_case_that_never_worked_in_b_is_ambiguous_and_says_so(session, alone):
    cases = {"gone"} if alone else {"gone", *(f"case{number:03d}" for number in range(5))}
    replicates = []
    for one in session({}, blocks=4):
        values = {case: v for case, v in one.values.items() if case in cases}
        if one.arm == "A" or one.phase == "control":
            values["gone"] = 0.5
        replicates.append(msgspec.structs.replace(one, values=values))
    analysis = analyse(replicates, RULES)
    found = by_case(analysis)["gone"]
    assert analysis.valid
    assert (found.verdict, found.effect, found.n_blocks) == (Verdict.AMBIGUOUS, None, 0)
    assert found.note == "complete blocks: 0; too few for an estimate"
    assert "gone" not in needing_more_blocks(analysis)


def test_a_session_is_invalid_when_a_differs_from_itself(noisy, no_effect):
    off = {case: 0.2 * (-1) ** number for number, case in enumerate(no_effect)}
    replicates = noisy("control", 2, off) + noisy("comparison", 12, off, seed=1)
    analysis = analyse(replicates, RULES)
    assert not analysis.valid and analysis.looks == 1
    assert set(verdicts(analysis).values()) == {Verdict.INVALID}
    assert " in the median case, in either direction: reduce" in analysis.reason
    assert all(one.effect is not None and not one.note for one in analysis.verdicts)
    assert needing_more_blocks(analysis) == ()


def test_a_session_without_a_control_is_invalid(session):
    replicates = session({})
    empty = [
        msgspec.structs.replace(one, values={}) if one.phase == "control" else one
        for one in replicates
    ]
    without = [one for one in replicates if one.phase != "control"]
    for lost in (replicates[4:], without, empty):
        analysis = analyse(lost, RULES)
        assert not analysis.valid and "control" in analysis.reason


def test_a_case_alone_is_judged_by_its_own_scatter(session):
    analysis = analyse(session({"case000": 0.2}, n_cases=1), RULES)
    (one,) = analysis.verdicts
    assert (one.verdict, analysis.shift) == (Verdict.REGRESSED, None)


def test_what_is_detectable_is_what_all_blocks_up_to_the_cap_find(session):
    first = [one for one in session({}, sd=0.01) if one.phase == "control" or one.block < 4]

    def beyond(cap):
        verdicts = analyse(first, Thresholds(block_cap=cap)).verdicts
        assert {one.n_blocks for one in verdicts} == {4}
        return np.median([one.detectable for one in verdicts]) - RULES.margin

    # The standard error of a quarter more blocks, and of four times as many. Degrees of freedom
    # grow with the blocks, too.
    assert 0.8 < beyond(15) / beyond(12) < np.sqrt(12 / 15) + 0.01
    assert 0.4 < beyond(48) / beyond(12) < 0.5
    # A change of that size is about what four of five sessions find: sd 0.01, and 60 cases.
    assert 2.5 < beyond(12) / (0.01 / np.sqrt(12)) < 7


def test_a_coarse_clock_makes_no_verdicts():
    """Medians of 10, 11 or 12 steps of a clock, in all arms alike."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        replicates = [
            Replicate(phase, number, position, arm, dict(zip(names, steps, strict=True)))
            for phase, blocks in (("control", 2), ("comparison", 12))
            for number in range(blocks)
            for position, arm in enumerate("ABBA")
            for names in [[f"case{row}" for row in range(100)]]
            for steps in [np.log(rng.integers(10, 13, 100)).tolist()]
        ]
        analysis = analyse(replicates, RULES)
        assert analysis.valid, analysis.reason
        assert not FLAGS & set(verdicts(analysis).values())


@pytest.mark.parametrize("cap", [12, 24])
def test_of_all_changes_that_are_claimed_few_are_false(noisy, cap):
    """Cases that changed by the threshold itself are the hardest to leave alone."""
    thresholds = Thresholds(block_cap=cap)
    effect = {f"edge{number}": thresholds.margin for number in range(40)}
    effect |= {f"slow{number}": LOG(0.10) for number in range(10)}
    shares = []
    for seed in range(10):
        replicates = noisy("control", 2, dict.fromkeys(effect, 0.0), seed, sd=0.015)
        replicates += noisy("comparison", cap, effect, seed, sd=0.015)
        said = verdicts(analyse(replicates, thresholds))
        claimed = [case for case, verdict in said.items() if verdict in FLAGS]
        assert sum(case.startswith("slow") for case in claimed) >= 9
        shares.append(np.mean([case.startswith("edge") for case in claimed]))
    # Three standard errors of the mean of the shares, whose standard deviation is some 0.06.
    assert np.mean(shares) <= thresholds.changed_q + 0.05


def test_cases_that_changed_by_as_much_as_counts_as_same_rarely_are(noisy):
    effect = {f"case{number}": RULES.same_margin for number in range(60)}
    said = Counter()
    for seed in range(6):
        replicates = noisy("control", 2, dict.fromkeys(effect, 0.0), seed, sd=0.04)
        replicates += noisy("comparison", 12, effect, seed, sd=0.04)
        said.update(verdicts(analyse(replicates, RULES)).values())
    # Three standard errors of a share of 5 % of 360 are 3.4 %.
    assert 0 < said[Verdict.SAME] / 360 <= 0.05 + 0.034


def test_an_analysis_survives_json(session):
    replicates = session(CHANGED)
    read = msgspec.json.decode(msgspec.json.encode(replicates), type=list[Replicate])
    analysis = analyse(read, RULES)
    assert analysis == analyse(replicates, RULES)
    assert msgspec.json.decode(msgspec.json.encode(analysis), type=Analysis) == analysis
