"""Two runs of a suite are compared bench by bench, or refused with the reason."""

import msgspec
import pytest

from opperf.comparison.compared import ChangeKind
from opperf.comparison.report import report_of
from opperf.comparison.suites.comparing import compare, outcome, telling_of
from opperf.errors import UsageError
from opperf.model import Settings, Status
from opperf.reports.writing import write
from opperf.statistics.data import Verdict
from opperf.suites.results.run import in_environment, load
from tests.environments import make_environment
from tests.suites.results.making import (
    facts_of,
    of_rates,
    rates_around,
    record_of,
    run_of,
    script_case,
    suite,
    written,
)
from tests.verifications import FAILED, verified

STEADY = [10.0, 10.02, 9.98, 10.01]


def verdicts(found):
    return {row.operator: row.verdict for row in found.rows}


def both(tmp_path, base, new, **more):
    return compare(
        of_rates(tmp_path, base, "base.jsonl"), of_rates(tmp_path, new, "new.jsonl"), **more
    )


def test_repeats_decide(tmp_path):
    slower, faster = [one * 0.9 for one in STEADY], [one * 1.2 for one in STEADY]
    found = both(
        tmp_path,
        {"slower": STEADY, "faster": STEADY, "same": STEADY},
        {"slower": slower, "faster": faster, "same": STEADY},
    )
    assert verdicts(found) == {
        "slower": Verdict.REGRESSED,
        "faster": Verdict.IMPROVED,
        "same": Verdict.SAME,
    }
    assert outcome(found) == (1, "1 regressed")
    for fail_on, code, failing in (
        (("improved",), (1, "1 improved"), {"faster"}),
        (("missing",), (0, ""), set()),
        ((), (0, ""), set()),
        (("improved", "regressed"), (1, "1 improved, 1 regressed"), {"slower", "faster"}),
    ):
        asked = msgspec.structs.replace(found, fail_on=fail_on)
        assert outcome(asked) == code
        report = report_of(asked, telling_of(asked))
        assert {test.operator for test in report.tests if test.result == "failure"} == failing
        assert report.data["fail_on"] == fail_on
    with pytest.raises(UsageError, match="runs of a suite do not compare results"):
        both(tmp_path, {"a": STEADY}, {"a": STEADY}, fail_on=["different"])
    (slower,) = (row for row in found.rows if row.operator == "slower")
    assert slower.ratio == pytest.approx(0.9)
    assert slower.low < 0.9 < slower.high < 1


def test_nothing_that_regressed_exits_with_0(tmp_path):
    assert outcome(both(tmp_path, {"a": STEADY}, {"a": STEADY})) == (0, "")


def test_single_runs_decide_only_what_is_beyond_the_assumed_scatter(tmp_path):
    close = both(tmp_path, {"a": 10.0}, {"a": 9.5})
    far = both(tmp_path, {"a": 10.0}, {"a": 5.0})
    assert verdicts(close) == {"a": Verdict.AMBIGUOUS} and outcome(close)[0] == 3
    assert verdicts(far) == {"a": Verdict.REGRESSED} and outcome(far)[0] == 1
    assert verdicts(both(tmp_path, {"a": 10.0}, {"a": 5.0}, scatter=0.6)) == {
        "a": Verdict.AMBIGUOUS
    }


def test_many_benches_that_scatter_alike_have_few_false_verdicts(tmp_path):
    import numpy as np

    draw = np.random.default_rng(7)
    names = [f"b{n}" for n in range(60)]
    sides = [
        {name: (10 * np.exp(draw.normal(0, 0.03, 4))).tolist() for name in names} for _ in range(2)
    ]
    found = both(tmp_path, *sides)
    changed = sum(row.verdict in (Verdict.REGRESSED, Verdict.IMPROVED) for row in found.rows)
    assert changed <= 2


def test_a_bench_that_no_longer_works_is_a_regression(tmp_path):
    good = record_of(script_case("a"), rates_around(10))
    bad = record_of(script_case("a"), None, Status.TIMEOUT, "no end after 600 s")
    base = suite(tmp_path, [facts_of(good, name="a")], [good], "base.jsonl")
    new = suite(tmp_path, [facts_of(bad, name="a")], [bad], "new.jsonl")
    found = compare(base, new)
    assert [(one.kind, one.reason) for one in found.changes] == [
        (ChangeKind.BROKEN, "timeout: no end after 600 s")
    ]
    assert outcome(found)[0] == 1
    assert outcome(compare(new, base))[0] == 3
    unasked = compare(base, new, fail_on=["regressed"])
    assert (
        outcome(unasked)[0] == 3
        and report_of(unasked, telling_of(unasked)).tests[0].result == "skipped"
    )
    report = report_of(found, telling_of(found))
    assert [(test.result, test.kind) for test in report.tests] == [("failure", "missing")]
    (row,) = report.rows
    assert dict(zip(report.header, row, strict=True))["verdict"] == "missing"


@pytest.mark.parametrize(
    "broken",
    [
        lambda case: record_of(case, None, Status.CRASHED, "SIGSEGV"),
        # Its rate is that of a wrong result.
        lambda case: verified(record_of(case, rates_around(40)), FAILED),
    ],
)
def test_a_case_that_fails_in_b_is_not_hidden_by_the_others_of_its_bench(tmp_path, broken):
    cases = [script_case("a", argv=(name,)) for name in ("small", "large")]
    base, new = ([record_of(case, rates_around(10)) for case in cases] for _ in range(2))
    new[1] = broken(cases[1])
    sides = [
        suite(tmp_path, [facts_of(*found, name="a")], found, f"{name}.jsonl")
        for name, found in (("base", base), ("new", new))
    ]
    found = compare(*sides)
    (change,) = found.changes
    assert (change.kind, len(found.rows)) == (ChangeKind.BROKEN, 1)
    assert change.reason.startswith("a: 1 of 1 attempt: ")
    assert outcome(found) == (1, "1 no longer working")
    assert not compare(sides[0], sides[0]).changes and not compare(*reversed(sides)).changes


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"argv": ("--batch", "64")}, "other arguments: 32 and 64"),
        ({"processes": 2}, "other plan: njobs n=1 and njobs n=2"),
        ({"stop": 30}, "other observations"),
        ({"settings": Settings(env={"A": "1"})}, "other settings: env"),
    ],
)
def test_other_settings_are_refused_with_the_reason(tmp_path, changed, said):
    sides = []
    for name, more in (("base", {}), ("new", changed)):
        record = record_of(script_case("a", **{"argv": ("--batch", "32")} | more), rates_around(10))
        sides.append(suite(tmp_path, [facts_of(record, name="a")], [record], f"{name}.jsonl"))
    found = compare(*sides)
    assert [one.kind for one in found.changes] == [ChangeKind.REFUSED] and not found.rows
    assert said in found.changes[0].reason and outcome(found)[0] == 3


def test_another_version_of_the_script_and_other_units_are_refused(tmp_path):
    record = record_of(script_case("a"), rates_around(10))
    tokens = msgspec.structs.replace(record.processes[0].rate, unit="tokens/s")
    other = msgspec.structs.replace(
        record, processes=(msgspec.structs.replace(record.processes[0], rate=tokens),)
    )
    base = suite(tmp_path, [facts_of(record, name="a", version="1" * 40)], [record], "a.jsonl")
    changed = suite(tmp_path, [facts_of(record, name="a", version="2" * 40)], [record], "b.jsonl")
    units = suite(tmp_path, [facts_of(other, name="a")], [other], "c.jsonl")
    assert "script was changed" in compare(base, changed).changes[0].reason
    assert compare(base, units).changes[0].reason == "the units are items/s and tokens/s"


def test_other_numbers_of_gpus_and_other_environments_are_what_is_compared(tmp_path):
    sides = []
    for name, processes, label in (("base", 4, "torch212"), ("new", 8, "torch213")):
        case = script_case(
            "a", method="per_gpu", processes=processes, settings=Settings(python=label)
        )
        record = record_of(case, rates_around(10))
        environment = make_environment("program", cpu=name)
        run = suite(
            tmp_path,
            [facts_of(record, name="a")],
            [record],
            f"{name}.jsonl",
            environment=environment,
        )
        sides.append(run)
    found = compare(*sides)
    assert len(found.rows) == 1
    assert "cpu" in [one.name for one in found.differences]


def test_groups_and_the_total(tmp_path):
    records = [record_of(script_case(name), rates_around(10)) for name in "ab"]
    fast = [
        record_of(script_case(name), rates_around(level)) for name, level in (("a", 40), ("b", 10))
    ]
    sides = [
        suite(
            tmp_path,
            [facts_of(one, name=one.case.label, point={"batch": one.case.label}) for one in found],
            found,
            f"{name}.jsonl",
        )
        for name, found in (("base", records), ("new", fast))
    ]
    found = compare(*sides, by=("batch",))
    assert {one.category: round(one.ratio, 6) for one in found.groups} == {"a": 4.0, "b": 1.0}
    assert found.total.ratio == pytest.approx(2.0)


def test_the_report_names_what_is_on_one_side(tmp_path):
    found = both(tmp_path, {"a": STEADY, "old": 1.0}, {"a": STEADY, "new": 1.0})
    report = report_of(found, telling_of(found))
    titles = [section.title for section in report.sections]
    assert "In A only: 1 case" in titles and "In B only: 1 case" in titles
    assert report.data["rows"][0]["verdict"] == "same"
    assert [test.result for test in report.tests] == ["system-out", "skipped", "skipped"]


def test_environments_of_one_run_are_compared(tmp_path):
    records = [
        record_of(script_case("a", settings=Settings(python=label)), rates_around(level))
        for label, level in (("torch==2.12", 10), ("torch==2.13", 20))
    ]
    run = suite(tmp_path, [facts_of(*records, name="a")], records)
    assert [bench.facts.name for bench in run.benches] == ["a (torch==2.12)", "a (torch==2.13)"]
    found = compare(in_environment(run, "torch==2.12"), in_environment(run, "torch==2.13"))
    assert [(row.operator, row.verdict) for row in found.rows] == [("a", Verdict.IMPROVED)]
    with pytest.raises(UsageError, match="unknown environment 'torch==2.1'"):
        in_environment(run, "torch==2.1")


def test_a_run_is_comparable_with_its_copy_in_milabenchs_layout(tmp_path):
    case = script_case(
        "a", argv=("--n", "3"), interval_s=0.5, observe=("optimizer",), point={"n": 3}, stop=30
    )
    record = record_of(case, rates_around(10))
    run = run_of([facts_of(record, name="a")], [record])
    write(run, tmp_path / "copy", "milabench")
    found = compare(load([written(tmp_path / "run.jsonl", run)]), load([tmp_path / "copy"]))
    assert not found.changes and found.rows[0].ratio == pytest.approx(1, rel=0.01)
