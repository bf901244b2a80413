"""From replicates to verdicts.

Longer than other files, as sessions that are drawn and sessions that are made by hand are held
against the same thresholds with the same helpers.
"""

import math
from collections import Counter

import msgspec
import numpy as np
import pytest
from scipy import stats

from opperf.compare.statistics.data import (
    Analysis,
    CaseVerdict,
    Replicate,
    Round,
    Thresholds,
    Verdict,
)
from opperf.compare.statistics.paired_t import Estimate
from opperf.compare.statistics.settling import blocks_needed
from opperf.compare.statistics.verdicts import analyse, candidates, next_round

RULES = Thresholds()
LOG = math.log1p


def by_case(analysis):
    return {one.case: one for one in analysis.verdicts}


def verdicts(analysis):
    return {one.case: one.verdict for one in analysis.verdicts}


@pytest.fixture
def session(noisy, no_effect):
    """Measures a session: control, screen, and confirm blocks of the candidates."""

    def measured(changed, seed=0, sd=0.008, thresholds=RULES):
        effect = {**no_effect, **changed}
        replicates = noisy("control", thresholds.control_blocks, no_effect, seed, sd)
        replicates += noisy("screen", thresholds.screen_blocks, effect, seed, sd)
        chosen = {case: effect[case] for case in candidates(replicates, thresholds)}
        return replicates + noisy("confirm", thresholds.confirm_blocks, chosen, seed, sd)

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
    thresholds = Thresholds(confirm_blocks=4, block_cap=20)
    assert thresholds.looks == 4
    replicates = noisy("control", 4, no_effect) + noisy("screen", 2, no_effect, sd=0.02)
    analysis = analyse(replicates, thresholds)
    blocks = []
    measured = 0
    for _ in range(6):
        todo = next_round(msgspec.structs.replace(analysis, thresholds=thresholds), measured)
        if todo is None:
            break
        assert todo.first_block == measured
        assert {by_case(analysis)[case].verdict for case in todo.cases} == {Verdict.AMBIGUOUS}
        measured += todo.n_blocks
        blocks.append(todo.n_blocks)
    assert blocks == [4, 4, 8, 4]
    assert len(blocks) == thresholds.looks


def test_nothing_is_measured_on_without_leave(session):
    assert RULES.looks == 1
    analysis = analyse(session({"case000": LOG(0.025)}), RULES)
    assert next_round(analysis, RULES.confirm_blocks) is None


def test_measuring_on_settles_more(noisy, no_effect):
    thresholds = Thresholds(confirm_blocks=8, block_cap=32)
    replicates = noisy("control", 4, no_effect) + noisy("screen", 4, no_effect, sd=0.015)
    analysis = analyse(replicates, thresholds)
    assert Counter(verdicts(analysis).values())[Verdict.AMBIGUOUS] > 80
    measured = 0
    while (todo := next_round(analysis, measured)) is not None:
        new = noisy("confirm", todo.n_blocks, dict.fromkeys(todo.cases, 0.0), seed=measured)
        replicates += [msgspec.structs.replace(r, block=r.block + measured) for r in new]
        measured += todo.n_blocks
        analysis = analyse(replicates, thresholds)
    assert measured <= thresholds.block_cap
    assert Counter(verdicts(analysis).values())[Verdict.AMBIGUOUS] < 10


def test_each_look_at_the_data_is_paid_for(constant):
    still = {"x": 0.0}
    replicates = constant("control", 2, still, still) + constant("screen", 2, still, still)
    for block, effect in enumerate([0.030, 0.045, 0.035, 0.040]):
        four = constant("confirm", 1, still, {"x": effect})
        replicates += [msgspec.structs.replace(one, block=block) for one in four]
    once, often = (
        by_case(analyse(replicates, Thresholds(confirm_blocks=4, block_cap=cap)))["x"]
        for cap in (4, 4 * 2**9)
    )
    assert 0.005 < once.p == often.p < 0.05
    assert once.verdict == Verdict.REGRESSED
    assert often.verdict == Verdict.AMBIGUOUS
    assert often.low < once.low < once.high < often.high


@pytest.mark.parametrize("cap", [12, 48])
def test_of_all_changes_that_are_claimed_few_are_false(noisy, cap):
    """Cases that changed by the threshold itself are the hardest to leave alone."""
    thresholds = Thresholds(block_cap=cap)
    effect = {f"edge{number}": thresholds.margin for number in range(60)}
    effect |= {f"slow{number}": LOG(0.04) for number in range(20)}
    shares = []
    for seed in range(15):
        replicates = noisy("control", 4, dict.fromkeys(effect, 0.0), seed, sd=0.005)
        replicates += noisy("screen", thresholds.screen_blocks, effect, seed)
        chosen, measured = candidates(replicates, thresholds), 0
        while chosen:
            blocks = max(measured, thresholds.confirm_blocks)
            new = noisy("confirm", blocks, {case: effect[case] for case in chosen}, [seed, blocks])
            replicates += [msgspec.structs.replace(r, block=r.block + measured) for r in new]
            measured += blocks
            analysis = analyse(replicates, thresholds)
            todo = next_round(analysis, measured)
            chosen = todo.cases if todo else ()
        claimed = [one.case for one in analysis.verdicts if one.verdict == Verdict.REGRESSED]
        assert sum(case.startswith("slow") for case in claimed) >= 15
        shares.append(np.mean([case.startswith("edge") for case in claimed]))
    # Three standard errors of the mean of the shares, whose standard deviation is some 0.06.
    assert np.mean(shares) <= thresholds.confirm_q + 0.045


def blocks(name, effects):
    """Blocks ABBA of a phase in which the cases have exactly these effects."""
    number = max(map(len, effects.values()))
    return [
        Replicate(
            name,
            block,
            position,
            arm,
            {case: (arm == "B") * of[block] for case, of in effects.items() if block < len(of)},
        )
        for block in range(number)
        for position, arm in enumerate("ABBA")
    ]


def four(mean, error):
    """Four effects of that mean and standard error."""
    return [mean + sign * np.sqrt(3) * error for sign in (-1, 1, 1, -1)]


STILL = [0.0, 0.0]
NULLS = {f"null{number:02d}": four(0.01 * (-1) ** number, 0.05) for number in range(30)}
"""Cases of which nothing can be told; many, so that what is rare by itself is not among them."""


# A table of Student's t, three degrees of freedom: 2.353 leaves 5 %.
@pytest.mark.parametrize(
    ("mean", "t", "chosen"),
    [
        (0.030, 2.5, True),  # beyond delta, and rare by itself
        (0.030, 2.2, False),  # beyond delta, and not rare
        (0.015, 2.5, False),  # rare by itself, and within delta
        (0.015, 50.0, True),  # within delta, and rare among all
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_candidates_are_rare_among_all_or_large_and_rare_by_themselves(mean, t, chosen, sign):
    screen = NULLS | {"x": four(sign * mean, mean / t)}
    replicates = blocks("control", dict.fromkeys(screen, STILL)) + blocks("screen", screen)
    assert candidates(replicates, RULES) == (("x",) if chosen else ())


@pytest.mark.parametrize("sign", [1, -1])
def test_an_invalid_session_names_the_case_that_differs_most(sign):
    control = {
        "less": four(-0.2 * sign, 1e-4),
        "most": four(0.3 * sign, 1e-4),
        "noisy": four(0.9, 0.8),
        "some": four(0.1, 1e-4),
    }
    analysis = analyse(blocks("control", control), RULES)
    # 1.35 and, the other way, 1 / 1.35.
    size = "+35.0%" if sign > 0 else "-25.9%"
    assert f"in 3 of 4 cases, most in most, by {size}: quieten" in analysis.reason
    assert {one.verdict for one in analysis.verdicts} == {Verdict.INVALID}
    assert {(one.more_blocks, one.note) for one in analysis.verdicts} == {(None, "")}


def test_two_confirm_blocks_are_judged_and_one_is_not():
    screened = blocks("control", {"x": STILL}) + blocks("screen", {"x": [0.1] * 4})
    one, two = (
        analyse(screened + blocks("confirm", {"x": [0.2, 0.2002][:n]}), RULES).verdicts[0]
        for n in (1, 2)
    )
    assert (one.phase, one.n_blocks, one.effect) == ("screen", 4, pytest.approx(0.1))
    assert (one.verdict, one.note) == (Verdict.AMBIGUOUS, "a candidate without confirm blocks")
    assert (two.phase, two.n_blocks, two.effect) == ("confirm", 2, pytest.approx(0.2001))
    assert (two.verdict, two.note) == (Verdict.REGRESSED, "")


# One-sided, three degrees of freedom, by a table: 2.353 leaves 5 %, and 3.182 a half of it.
@pytest.mark.parametrize(
    ("phase", "looks", "t", "same"),
    [
        ("screen", 1, 2.30, False),
        ("screen", 1, 2.40, True),
        ("screen", 2, 2.40, True),
        ("confirm", 1, 2.40, True),
        ("confirm", 2, 3.10, False),
        ("confirm", 2, 3.25, True),
    ],
)
def test_sameness_is_paid_for_by_look_where_there_are_looks(phase, looks, t, same):
    thresholds = Thresholds(confirm_blocks=4, block_cap=4 * looks)
    assert thresholds.looks == looks
    error = thresholds.margin / t
    effect = {"x": four(0.0, error)}
    replicates = blocks("control", {"x": STILL})
    replicates += blocks("screen", {"x": STILL} if phase == "confirm" else effect)
    replicates += blocks("confirm", effect) if phase == "confirm" else []
    (one,) = analyse(replicates, thresholds).verdicts
    assert one.phase == phase
    assert one.verdict == (Verdict.SAME if same else Verdict.AMBIGUOUS)
    # Bounds are those by which the case is or is not the same.
    assert (one.high < thresholds.margin) is same
    reach = stats.t.isf(0.05 / (looks if phase == "confirm" else 1), 3) * error
    assert (one.low, one.high) == pytest.approx((one.effect - reach, one.effect + reach))


def test_a_p_value_times_its_looks_is_one_at_most():
    thresholds = Thresholds(confirm_blocks=4, block_cap=16)
    replicates = blocks("control", {"x": STILL}) + blocks("screen", {"x": STILL})
    (one,) = analyse(replicates + blocks("confirm", {"x": four(0.0, 0.05)}), thresholds).verdicts
    assert one.verdict == Verdict.AMBIGUOUS and 0.5 < one.p <= 1.0


def forecast(mean, error, n, beyond, within):
    of = Estimate(np.array([mean]), np.array([error]), np.array([float(n)]))
    return blocks_needed(of, RULES.margin, beyond, within)[0]


def test_more_blocks_are_those_needed_less_those_there_are():
    thresholds = Thresholds(confirm_blocks=4, block_cap=8)
    error = RULES.margin / 2
    near, far, slow = four(0.0, error), four(0.045, 0.009), four(0.2, 1e-4)
    replicates = blocks("control", dict.fromkeys(("far", "near", "new", "slow"), STILL))
    replicates += blocks("screen", dict.fromkeys(("far", "near", "slow"), STILL) | {"new": near})
    replicates += blocks("confirm", {"far": far, "near": near, "slow": slow})
    found = by_case(analyse(replicates, thresholds))
    assert found["slow"].verdict == Verdict.REGRESSED and found["slow"].more_blocks is None
    # Of three that were tested one is rejected; the next would be at 2/3 of 5 %, on two looks.
    level, same = 0.05 * 2 / 3 / 2, 0.05 / 2
    assert found["far"].more_blocks == forecast(0.045, 0.009, 4, level, same) - 4 > 1
    assert found["near"].more_blocks == forecast(0.0, error, 4, level, same) - 4 > 1
    # Screen blocks do not count among those of the confirm phase.
    assert found["new"].phase == "screen"
    assert found["new"].more_blocks == found["near"].more_blocks + 4
    assert {one.note for one in found.values()} == {""}


def test_an_open_case_needs_more_blocks_than_it_has(noisy):
    thresholds = Thresholds(confirm_blocks=4, block_cap=16)
    effect = {f"case{number:03d}": 0.0005 * number for number in range(120)}
    replicates = noisy("control", 4, dict.fromkeys(effect, 0.0), sd=0.001)
    replicates += noisy("screen", 4, effect) + noisy("confirm", 4, effect)
    found = analyse(replicates, thresholds).verdicts
    needs = [one.more_blocks for one in found if one.more_blocks is not None]
    assert len(needs) > 50 and min(needs) >= 1
    assert {one.verdict for one in found if one.more_blocks is None} >= {"same", "regressed"}


def test_an_open_case_needs_one_block_more_at_least():
    # One degree of freedom, and 9.5 standard errors beyond the margin, of one that is as wide as a
    # standard error: Cauchy's distribution has 3.3 % beyond them, and 2.8 % in the other tail.
    error = RULES.margin
    effect = RULES.margin + 9.5 * error
    replicates = blocks("control", {"x": STILL}) + blocks("screen", {"x": STILL})
    replicates += blocks("confirm", {"x": [effect - error, effect + error]})
    (one,) = analyse(replicates, RULES).verdicts
    assert one.p == pytest.approx(0.0334 + 0.0276, abs=1e-3)
    assert forecast(effect, error, 2, 0.05, 0.05) == 2
    assert (one.verdict, one.more_blocks) == (Verdict.AMBIGUOUS, 1)


def test_a_case_at_delta_itself_is_not_forecast():
    replicates = blocks("control", {"x": STILL}) + blocks("screen", {"x": four(0.0199, 0.05)})
    (one,) = analyse(replicates, RULES).verdicts
    assert (one.verdict, one.more_blocks) == (Verdict.AMBIGUOUS, None)
    assert one.note == "too close to delta to decide with 1000 blocks"


def of_cases(**verdicts):
    """An analysis that says this of cases: a verdict, and whether there is a p-value."""
    replicates = blocks("control", {"x": STILL})
    told = tuple(
        CaseVerdict(case, verdict, p=0.5 if known else None)
        for case, (verdict, known) in verdicts.items()
    )
    return msgspec.structs.replace(analyse(replicates, RULES), verdicts=told)


@pytest.mark.parametrize(
    ("measured", "cap", "blocks_left"),
    [(0, 12, 12), (0, 5, 5), (12, 13, 1), (12, 12, None), (16, 12, None), (4, 12, 4), (4, 6, 2)],
)
def test_a_round_ends_at_the_cap(measured, cap, blocks_left):
    analysis = of_cases(
        open=(Verdict.AMBIGUOUS, True),
        failing=(Verdict.AMBIGUOUS, False),
        slow=(Verdict.REGRESSED, True),
        still=(Verdict.SAME, True),
    )
    analysis = msgspec.structs.replace(analysis, thresholds=Thresholds(block_cap=cap))
    expected = None if blocks_left is None else Round(("open",), measured, blocks_left)
    assert next_round(analysis, measured) == expected


def test_there_is_no_round_of_cases_that_are_settled_or_without_blocks():
    analysis = of_cases(failing=(Verdict.AMBIGUOUS, False), slow=(Verdict.REGRESSED, True))
    analysis = msgspec.structs.replace(analysis, thresholds=Thresholds(block_cap=48))
    assert next_round(analysis, 12) is None


def test_a_session_from_a_file_is_as_the_one_that_was_measured(session):
    replicates = session(CHANGED)
    read = msgspec.json.decode(msgspec.json.encode(replicates), type=list[Replicate])
    assert analyse(read, RULES) == analyse(replicates, RULES)


def test_an_analysis_survives_json(session):
    analysis = analyse(session(CHANGED), RULES)
    assert msgspec.json.decode(msgspec.json.encode(analysis), type=Analysis) == analysis
