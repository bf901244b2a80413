"""From replicates to verdicts."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from opperf.compare.statistics.data import Analysis, Replicate, Rules, Verdict
from opperf.compare.statistics.verdicts import analyse, candidates, next_round

RULES = Rules()
LOG = np.log1p


def by_case(analysis):
    return {one.case: one for one in analysis.verdicts}


def verdicts(analysis):
    return {one.case: one.verdict for one in analysis.verdicts}


@pytest.fixture
def session(noisy, no_effect):
    """Measures a session: control, screen, and confirm blocks of the candidates."""

    def measured(changed, seed=0, sd=0.008, rules=RULES):
        effect = {**no_effect, **changed}
        replicates = noisy("control", rules.control_blocks, no_effect, seed, sd)
        replicates += noisy("screen", rules.screen_blocks, effect, seed, sd)
        chosen = {case: effect[case] for case in candidates(replicates, rules)}
        return replicates + noisy("confirm", rules.confirm_blocks, chosen, seed, sd)

    return measured


@pytest.fixture
def swap():
    """Exchanges the arms' names."""
    other = {"A": "B", "B": "A"}

    def exchanged(replicates):
        return [Replicate(r.phase, r.block, r.position, other[r.arm], r.values) for r in replicates]

    return exchanged


CHANGED = {
    **{f"case{number:03d}": LOG(0.06) for number in range(8)},
    **{f"case{number:03d}": -LOG(0.06) for number in range(8, 12)},
}


def test_changes_are_found_and_nothing_else(session):
    false = found = 0
    for seed in range(5):
        analysis = analyse(session(CHANGED, seed), RULES)
        assert analysis.valid
        said = verdicts(analysis)
        for case, verdict in said.items():
            truth = {1: "regressed", -1: "improved", 0: None}[np.sign(CHANGED.get(case, 0.0))]
            found += truth is not None and verdict == truth
            false += verdict in ("regressed", "improved") and verdict != truth
        rest = Counter(verdict for case, verdict in said.items() if case not in CHANGED)
        assert rest[Verdict.SAME] > 0.7 * (len(said) - len(CHANGED))
    assert found >= 0.95 * 5 * len(CHANGED)
    assert false <= 1


def test_swapping_the_arms_negates_effects_and_verdicts(session, swap):
    replicates = session(CHANGED)
    there, back = by_case(analyse(replicates, RULES)), by_case(analyse(swap(replicates), RULES))
    mirrored = {"regressed": "improved", "improved": "regressed"}
    for case, one in there.items():
        other = back[case]
        assert other.verdict == mirrored.get(one.verdict, one.verdict)
        assert other.effect == -one.effect
        assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
        assert (other.p, other.more_blocks) == (pytest.approx(one.p), one.more_blocks)
    assert candidates(replicates, RULES) == candidates(swap(replicates), RULES)


def test_a_common_shift_is_reported_and_stays_in_the_effects(session, no_effect):
    analysis = analyse(session({case: LOG(0.10) for case in no_effect}), RULES)
    assert analysis.valid
    assert analysis.shift.verdict == Verdict.REGRESSED
    assert analysis.shift.low < LOG(0.10) < analysis.shift.high
    assert set(verdicts(analysis).values()) == {Verdict.REGRESSED}
    assert np.mean([one.effect for one in analysis.verdicts]) == pytest.approx(LOG(0.10), abs=2e-3)


def test_only_the_confirm_blocks_count_for_a_candidate(constant):
    still, slow = {"x": 0.0}, {"x": 0.1}
    replicates = constant("control", 2, still, still) + constant("screen", 2, still, slow)
    assert candidates(replicates, RULES) == ("x",)
    (before,) = analyse(replicates, RULES).verdicts
    assert (before.verdict, before.phase) == (Verdict.AMBIGUOUS, "screen")
    assert "candidate" in before.note
    (refuted,) = analyse(replicates + constant("confirm", 3, still, still), RULES).verdicts
    assert (refuted.verdict, refuted.phase, refuted.effect) == (Verdict.SAME, "confirm", 0.0)
    (found,) = analyse(replicates + constant("confirm", 3, still, slow), RULES).verdicts
    assert (found.verdict, found.n_blocks) == (Verdict.REGRESSED, 3)
    assert found.ratio == pytest.approx(np.exp(0.1))


def test_a_figure_without_noise_gives_no_nan(constant):
    a = {"equal": 1.0, "less": 1.0, "more": 1.0}
    b = {"equal": 1.0, "less": 0.9, "more": 1.1}
    replicates = constant("control", 4, a, a) + constant("screen", 4, a, b)
    replicates += constant("confirm", 8, a, b)
    analysis = analyse(replicates, RULES)
    assert analysis.valid
    assert (analysis.floor, analysis.delta) == (0.0, pytest.approx(LOG(0.02)))
    assert verdicts(analysis) == {"equal": "same", "less": "improved", "more": "regressed"}
    for one in analysis.verdicts:
        assert np.isfinite([one.effect, one.low, one.high, one.p]).all()


def test_a_case_is_judged_by_the_blocks_it_is_in(session):
    replicates = session(CHANGED)
    lost = [
        msgspec.structs.replace(r, values={k: v for k, v in r.values.items() if k != "case000"})
        if r.block == 0
        else r
        for r in replicates
    ]
    before, after = (by_case(analyse(one, RULES)) for one in (replicates, lost))
    assert after["case000"].n_blocks == RULES.confirm_blocks - 1
    assert after["case000"].verdict == Verdict.REGRESSED
    assert after["case001"] == before["case001"]


def test_a_case_in_one_block_is_ambiguous_and_says_so(constant):
    both, one = {"x": 0.0, "y": 0.0}, {"x": 0.0}
    replicates = constant("control", 2, both, both) + constant("screen", 2, both, both)
    failing = [
        msgspec.structs.replace(r, values=one) if r.block == 1 and r.arm == "B" else r
        for r in replicates
    ]
    found = by_case(analyse(failing, RULES))
    assert found["x"].verdict == Verdict.SAME
    assert found["y"].verdict == Verdict.AMBIGUOUS
    assert found["y"].more_blocks is None
    assert "complete blocks: 1" in found["y"].note


def test_a_case_that_never_worked_in_b_is_ambiguous(constant):
    both, one = {"x": 0.0, "y": 0.0}, {"x": 0.0}
    replicates = constant("control", 2, both, both) + constant("screen", 2, both, one)
    found = by_case(analyse(replicates, RULES))["y"]
    assert (found.verdict, found.effect, found.n_blocks) == (Verdict.AMBIGUOUS, None, 0)


def test_a_session_is_invalid_when_a_differs_from_itself(noisy, no_effect):
    off = {**no_effect, **{f"case{number:03d}": 0.2 for number in range(20)}}
    replicates = noisy("control", 4, off, sd=0.005) + noisy("screen", 4, off, seed=1)
    analysis = analyse(replicates, RULES)
    assert not analysis.valid
    assert set(verdicts(analysis).values()) == {Verdict.INVALID}
    assert "of 200 cases" in analysis.reason
    assert "case0" in analysis.reason
    assert all(one.effect is not None for one in analysis.verdicts)


def test_a_session_is_invalid_when_all_of_a_differs_from_itself(noisy, no_effect):
    off = dict.fromkeys(no_effect, 0.03)
    analysis = analyse(noisy("control", 4, off, sd=0.02), RULES)
    assert not analysis.valid
    assert "together" in analysis.reason


def test_a_session_without_a_control_is_invalid(noisy, no_effect):
    analysis = analyse(noisy("screen", 4, no_effect), RULES)
    assert (analysis.valid, analysis.floor, analysis.delta) == (
        False,
        None,
        pytest.approx(LOG(0.02)),
    )
    assert "control" in analysis.reason
    assert not analyse([], RULES).valid


def test_a_noisy_control_raises_delta(noisy, no_effect):
    analysis = analyse(noisy("control", 4, no_effect, sd=0.05), RULES)
    assert analysis.valid
    assert analysis.delta == analysis.floor > 0.05


def test_a_coarse_clock_makes_no_verdicts():
    """Medians of 10, 11 or 12 steps of a clock, in all arms alike."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        replicates = []
        for phase, blocks in (("control", 4), ("screen", 4), ("confirm", 8)):
            for number in range(blocks):
                for position, arm in enumerate("ABBA"):
                    steps = np.log(rng.integers(10, 13, 300))
                    values = {f"case{row}": float(step) for row, step in enumerate(steps)}
                    replicates.append(Replicate(phase, number, position, arm, values))
        analysis = analyse(replicates, RULES)
        assert analysis.valid, analysis.reason
        assert not {"regressed", "improved"} & set(verdicts(analysis).values())


def test_ambiguous_cases_say_how_many_more_blocks(noisy, no_effect):
    replicates = noisy("control", 4, no_effect) + noisy("screen", 2, no_effect, sd=0.02)
    analysis = analyse(replicates, RULES)
    ambiguous = [one for one in analysis.verdicts if one.verdict == Verdict.AMBIGUOUS]
    assert len(ambiguous) > 50
    assert all(one.more_blocks or one.note for one in ambiguous)
    settled = [one for one in analysis.verdicts if one.verdict == Verdict.SAME]
    assert settled
    assert all(one.more_blocks is None for one in settled)


def test_rounds_double_until_the_cap(noisy, no_effect):
    rules = Rules(confirm_blocks=4, block_cap=20)
    assert rules.looks == 4
    replicates = noisy("control", 4, no_effect) + noisy("screen", 2, no_effect, sd=0.02)
    analysis = analyse(replicates, rules)
    blocks = []
    measured = 0
    for _ in range(6):
        todo = next_round(msgspec.structs.replace(analysis, rules=rules), measured)
        if todo is None:
            break
        assert todo.first_block == measured
        assert {by_case(analysis)[case].verdict for case in todo.cases} == {Verdict.AMBIGUOUS}
        measured += todo.n_blocks
        blocks.append(todo.n_blocks)
    assert blocks == [4, 4, 8, 4]
    assert len(blocks) == rules.looks


def test_nothing_is_measured_on_without_leave(session):
    assert RULES.looks == 1
    analysis = analyse(session({"case000": LOG(0.025)}), RULES)
    assert next_round(analysis, RULES.confirm_blocks) is None


def test_measuring_on_settles_more(noisy, no_effect):
    rules = Rules(confirm_blocks=8, block_cap=32)
    replicates = noisy("control", 4, no_effect) + noisy("screen", 4, no_effect, sd=0.015)
    analysis = analyse(replicates, rules)
    assert Counter(verdicts(analysis).values())[Verdict.AMBIGUOUS] > 80
    measured = 0
    while (todo := next_round(analysis, measured)) is not None:
        new = noisy("confirm", todo.n_blocks, dict.fromkeys(todo.cases, 0.0), seed=measured)
        replicates += [msgspec.structs.replace(r, block=r.block + measured) for r in new]
        measured += todo.n_blocks
        analysis = analyse(replicates, rules)
    assert measured <= rules.block_cap
    assert Counter(verdicts(analysis).values())[Verdict.AMBIGUOUS] < 10


def test_each_look_at_the_data_is_paid_for(constant):
    still = {"x": 0.0}
    replicates = constant("control", 2, still, still) + constant("screen", 2, still, still)
    for block, effect in enumerate([0.030, 0.045, 0.035, 0.040]):
        four = constant("confirm", 1, still, {"x": effect})
        replicates += [msgspec.structs.replace(one, block=block) for one in four]
    once, often = (
        by_case(analyse(replicates, Rules(confirm_blocks=4, block_cap=cap)))["x"]
        for cap in (4, 4 * 2**9)
    )
    assert 0.005 < once.p == often.p < 0.05
    assert once.verdict == Verdict.REGRESSED
    assert often.verdict == Verdict.AMBIGUOUS
    assert often.low < once.low < once.high < often.high


@pytest.mark.parametrize("cap", [12, 48])
def test_of_all_changes_that_are_claimed_few_are_false(noisy, cap):
    """Cases that changed by the threshold itself are the hardest to leave alone."""
    rules = Rules(block_cap=cap)
    effect = {f"edge{number}": rules.margin for number in range(60)}
    effect |= {f"slow{number}": LOG(0.04) for number in range(20)}
    shares = []
    for seed in range(15):
        replicates = noisy("control", 4, dict.fromkeys(effect, 0.0), seed, sd=0.005)
        replicates += noisy("screen", rules.screen_blocks, effect, seed)
        chosen, measured = candidates(replicates, rules), 0
        while chosen:
            blocks = max(measured, rules.confirm_blocks)
            new = noisy("confirm", blocks, {case: effect[case] for case in chosen}, [seed, blocks])
            replicates += [msgspec.structs.replace(r, block=r.block + measured) for r in new]
            measured += blocks
            analysis = analyse(replicates, rules)
            todo = next_round(analysis, measured)
            chosen = todo.cases if todo else ()
        claimed = [one.case for one in analysis.verdicts if one.verdict == Verdict.REGRESSED]
        assert sum(case.startswith("slow") for case in claimed) >= 15
        shares.append(np.mean([case.startswith("edge") for case in claimed]))
    # Three standard errors of the mean of the shares, whose standard deviation is some 0.06.
    assert np.mean(shares) <= rules.confirm_q + 0.045


def test_an_analysis_survives_json(session):
    analysis = analyse(session(CHANGED), RULES)
    assert msgspec.json.decode(msgspec.json.encode(analysis), type=Analysis) == analysis
