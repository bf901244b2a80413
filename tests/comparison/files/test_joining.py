"""Which case of one file is compared with which of the other."""

import json

import msgspec
import pytest

from opperf.comparison.files.joining import Pair, check_common, filter_operators, join
from opperf.comparison.files.reading import entry_of, read
from opperf.errors import RunFileError, UsageError
from opperf.model import Status
from tests.writing import compared


def verdicts(comparison):
    return {(row.operator, row.inputs, row.metric): row.verdict.value for row in comparison.rows}


def test_cases_are_joined_by_id(run, record, asked):
    base = run(record("relu"), record("relu", shape=(8,)), record("exp"))
    new = run(record("relu", shape=(8,), factor=2.0), record("exp"), record("log"))
    found = asked(base, new, metrics=("forward",))
    assert verdicts(found) == {
        ("relu", "data: (8,)", "forward"): "suspect",
        ("exp", "data: (4, 4)", "forward"): "no clear change",
    }
    assert [(c.kind.value, c.operator, c.inputs) for c in found.changes] == [
        ("disappeared", "relu", "data: (4, 4)"),
        ("appeared", "log", "data: (4, 4)"),
    ]


def test_cases_of_one_key_are_paired_in_their_order(record):
    entries = [entry_of(record(seed=1)), entry_of(record("exp")), entry_of(record(seed=2))]
    pairs = join(entries, entries[::-1], "shown")
    assert [(p.base.effort["seed"], p.new.effort["seed"]) for p in pairs if p.base and p.new] == [
        (1, 2),
        (0, 0),
        (2, 1),
    ]


@pytest.mark.parametrize(
    ("base", "new", "words"),
    [
        ({"profiler": "native"}, {"profiler": "python"}, "profiler native against python; --igno"),
        ({"threads": 1}, {"threads": 4}, "threads 1 against 4; --ignore-settings"),
        ({"dtype": "float16"}, {}, "dtype float16 against float32"),
        ({"name": "relu"}, {"name": "exp"}, "no operator is in both"),
        ({"shape": (2,)}, {"shape": (3,)}, "1 operator in both, but with different inputs"),
    ],
)
def test_no_case_in_common(run, record, asked, base, new, words):
    with pytest.raises(RunFileError, match=f"no case in common: {words}"):
        asked(run(record(**base)), run(record(**new)))


def test_no_case_in_common_for_the_size(run, record, asked):
    small, usual = run(record(shape=(2,)), selection={"size": "small"}), run(record())
    usual = msgspec.structs.replace(
        usual, header=msgspec.structs.replace(usual.header, options={"selection": {"seed": 1}})
    )
    with pytest.raises(
        RunFileError, match="size small against default; measure both with the same"
    ):
        asked(small, usual)


def test_run_files_are_joined_in_the_order_of_their_plans(run, record, asked):
    planned = record("relu"), record("exp")
    others = record("log", factor=2.0), record("sqrt", shape=(8,))
    # The second case was measured first.
    base, new = run(*planned[::-1], planned=planned), run(*others, planned=others)
    found = asked(base, new, in_order=True, metrics=("forward",))
    assert verdicts(found) == {
        ("relu | log", "data: (4, 4)", "forward"): "suspect",
        ("exp | sqrt", "data: (4, 4)", "forward"): "no clear change",
    }
    assert found.changes == ()


def test_results_without_a_plan_have_no_order(run, record, asked):
    both = run(record("relu"))
    with pytest.raises(UsageError, match="base.json is no run file: --in-order"):
        asked(both, both, ("json", "jsonl"), in_order=True)


def test_settings_can_be_ignored(run, record, asked):
    base, new = run(record(threads=1)), run(record(threads=4, factor=2.0))
    found = asked(base, new, ignore_settings=True, metrics=("forward",))
    assert verdicts(found) == {("relu", "data: (4, 4)", "forward"): "suspect"}
    assert list(found.differences) == [("settings.threads", 1, 4)]
    chosen = f"{found.base.path} --id {base.records[0].id[:6]}"
    assert found.confirm == f"opperf ab {chosen} --a threads:1 --b threads:4"


def test_the_filter_takes_the_patterns_of_run(run, record, asked):
    both = run(record("relu"), record("broadcast_add"), record("sum"), record("exp"))
    found = asked(both, both, patterns=("relu", "broadcast_*", "re:^su"), metrics=("forward",))
    assert {row.operator for row in found.rows} == {"relu", "broadcast_add", "sum"}
    assert found.base.cases == 3
    with pytest.raises(UsageError, match="'rleu'; did you mean relu"):
        asked(both, both, patterns=("rleu",))
    with pytest.raises(UsageError, match="not a regular expression"):
        asked(both, both, patterns=("re:(",))


def test_the_third_of_one_key_is_paired_with_the_third(record):
    entries = [entry_of(record(seed=number)) for number in range(3)]
    seeds = [
        (pair.base and pair.base.effort["seed"], pair.new and pair.new.effort["seed"])
        for pair in join(entries, entries[:2], "shown")
    ]
    assert seeds == [(0, 0), (1, 1), (2, None)]


def test_without_patterns_all_cases_are_kept(measured, entry):
    base, new = measured(entry("relu")), measured(entry("exp"))
    assert filter_operators(base, new, ()) == (base, new)
    chosen, other = filter_operators(base, new, ("relu",))
    assert ([one.operator for one in chosen.entries], other.entries) == (["relu"], ())


@pytest.fixture
def why(measured):
    """Why files of these cases have none in common."""

    def told(base, new):
        pairs = [Pair(one, None) for one in base.entries] + [Pair(None, one) for one in new.entries]
        with pytest.raises(RunFileError) as raised:
            check_common(base, new, pairs)
        words, _, reason = str(raised.value).partition(" have no case in common: ")
        assert words == f"{base.side.path} and {new.side.path}"
        return reason

    return told


def test_a_case_in_common_is_enough(measured, entry):
    one = entry()
    check_common(measured(one), measured(one), [Pair(None, one), Pair(one, None), Pair(one, one)])


def test_a_file_without_any_case_is_named(why, measured, entry):
    empty, full = measured(path="empty"), measured(entry(), path="full")
    assert why(empty, full) == "empty has no case that --filter matches"
    assert why(full, empty) == "empty has no case that --filter matches"


def test_files_of_two_frameworks_say_so_first(why, measured, entry):
    base = measured(entry("a", settings={"dtype": "float32"}), framework="mxnet")
    new = measured(entry("b", settings={"dtype": "float16"}), framework="numpy")
    assert why(base, new) == (
        "framework mxnet against numpy, dtype float32 against float16; measure both with the same"
    )
    # Where one of them does not tell its framework, nothing is known of that.
    alone = measured(*new.entries)
    assert why(alone, base) == "dtype float16 against float32; measure both with the same"
    assert why(base, alone) == "dtype float32 against float16; measure both with the same"


@pytest.mark.parametrize(
    ("calls", "hint"),
    [
        (("one", "one"), "--ignore-settings joins"),
        (("", ""), "measure both"),
        (("one", "two"), "measure both"),
    ],
)
def test_settings_can_be_ignored_where_the_calls_are_the_same(why, measured, entry, calls, hint):
    base, new = (
        measured(entry(call=call, settings={"threads": threads}))
        for call, threads in zip(calls, (1, 4), strict=True)
    )
    assert why(base, new).startswith(f"threads 1 against 4; {hint}")


def test_settings_that_are_alike_in_some_case_keep_nothing_apart(why, measured, entry):
    base = measured(
        entry("a", settings={"threads": 1, "x": 1}), entry("b", settings={"threads": 4})
    )
    new = measured(entry("a", settings={"threads": 4, "y": 1}))
    assert why(base, new) == "1 operator in both, but with different inputs"
    two = measured(entry("a", settings={"threads": 8}), entry("b"))
    assert why(base, two) == "threads 1, 4 against 8; --ignore-settings joins them anyway"
    assert why(measured(entry("a"), entry("b")), measured(entry("b"), entry("a"))) == (
        "2 operators in both, but with different inputs"
    )
    assert why(measured(entry("a")), measured(entry("b"))) == "no operator is in both"


def test_sizes_are_told_where_both_files_tell_their_selection(why, measured, entry):
    small = measured(entry(), selection={"size": "small"})
    assert "size small against default" in why(small, measured(entry(), selection={"seed": 1}))
    assert "size" not in why(small, measured(entry()))


@pytest.fixture
def seen(record):
    """Makes a record of a case that was seen so many times."""

    def made(name, factor=1.0, count=1, **changed):
        one = record(name, factor, **changed)
        return msgspec.structs.replace(one, case=msgspec.structs.replace(one.case, count=count))

    return made


@pytest.fixture
def programs(run, seen):
    """A program before and after: `relu` got slower, `dot` faster, `gone` is gone."""
    failed = {"status": Status.FAILED, "reason": "no kernel"}
    base = run(
        seen("relu", 1.0, 10),
        seen("dot", 20.0, 2),
        seen("gone", 1.0, 3),
        seen("bad", 0, 4, **failed),
    )
    new = run(seen("relu", 2.0, 10), seen("dot", 10.0, 2), seen("bad", 0, 4, **failed))
    return base, new


def test_totals_are_of_both_passes(asked, programs):
    found = asked(*programs, weight="count").weighted
    assert found.metrics == ("forward", "backward") and found.cases == 2
    # A millisecond forward and two backward, ten times; and twenty times that, twice.
    assert found.base_ns == pytest.approx(150e6, rel=0.02)
    assert found.new_ns == pytest.approx(120e6, rel=0.02)
    assert [one.operator for one in found.operators] == ["dot", "relu"]
    assert found.geometric_mean == pytest.approx(2 ** (8 / 12), rel=0.02)
    assert found.unmeasured_calls == 4
    assert [(one.side, one.operator, one.calls) for one in found.alone] == [("base", "gone", 3)]
    assert 0 < found.half_width_ns < 30e6


def test_totals_are_of_the_compared_passes(asked, programs):
    found = asked(*programs, weight="count", metrics=("forward",)).weighted
    assert found.metrics == ("forward",) and found.base_ns == pytest.approx(50e6, rel=0.02)
    with pytest.raises(UsageError, match="add forward or backward to --metric"):
        asked(*programs, weight="count", metrics=("memory",))


def test_a_pass_of_one_side_is_in_no_total(asked, run, seen):
    found = asked(run(seen("relu")), run(seen("relu", backward=False)), weight="count").weighted
    assert found.base_ns == pytest.approx(1e6, rel=0.02) and found.alone == ()


def test_a_case_that_broke_is_named(asked, run, seen):
    broken = seen("dot", 1.0, 5, status=Status.CRASHED, reason="signal 11")
    base, new = run(seen("relu"), seen("dot", 1.0, 5)), run(seen("relu"), broken)
    found = asked(base, new, weight="count").weighted
    assert [(one.side, one.operator, one.calls) for one in found.alone] == [("base", "dot", 5)]
    found = asked(new, base, weight="count").weighted
    assert [(one.side, one.operator, one.calls) for one in found.alone] == [("new", "dot", 5)]


def test_counts_may_differ(asked, run, seen):
    found = asked(run(seen("relu", 1.0, 4)), run(seen("relu", 1.0, 2)), weight="count").weighted
    assert (found.base_calls, found.new_calls, found.recounted) == (4, 2, 1)
    assert found.ratio == pytest.approx(0.5) and found.geometric_mean == pytest.approx(1.0)


def test_averages_take_the_counts_of_the_other_file(asked, programs):
    for extensions in (("jsonl", "json"), ("json", "jsonl")):
        found = asked(*programs, extensions, weight="count").weighted
        assert found.base_calls == found.new_calls == 12 and found.half_width_ns is None
    with pytest.raises(RunFileError, match=r"neither file has counts; use run files \(-f jsonl\)"):
        asked(*programs, ("json", "json"), weight="count")


def test_nothing_to_weight(asked, run, seen):
    failed = run(seen("relu"), seen("exp", status=Status.FAILED, reason="no"))
    other = run(seen("relu", status=Status.FAILED, reason="no"), seen("exp"))
    with pytest.raises(RunFileError, match="no common case has a forward or backward time"):
        asked(failed, other, weight="count")


def test_no_totals_unless_asked_for(asked, programs):
    assert asked(*programs).weighted is None


def test_every_report_with_a_place_for_totals_has_them(asked, programs):
    without, found = asked(*programs), asked(*programs, weight="count")
    for name in ("text", "md", "html-fragment"):
        page = " ".join(compared(found, name).split())
        assert "Weighted by count (forward + backward time of 12 calls of 2 cases)" in page
        assert "Of the change" in page and "In base alone, and in no total: 1 case" in page
        assert "Weighted by count" not in compared(without, name)
    assert json.loads(compared(without, "json"))["weighted"] is None
    weighted = json.loads(compared(found, "json"))["weighted"]
    assert weighted["operators"][0]["operator"] == "dot" and weighted["base_calls"] == 12


def test_the_command_weights(saved, programs, outcome):
    files = [saved(run, f"{name}.jsonl") for name, run in zip("ab", programs, strict=True)]
    code, printed, _ = outcome(*files, "--weight", "count", "--fail-on", "none")
    assert code == 0 and "Weighted by count" in printed
    code, _, told = outcome(*files, "--weight", "count", "-f", "csv")
    assert code == 2 and "csv has rows of single cases only" in told
    code, printed, told = outcome(*files, "--weight", "counts")
    assert code == 2 and "'counts' is not" in printed + told


def test_files_have_the_counts_of_their_cases(saved, programs):
    base, _ = programs
    assert [one.count for one in read(saved(base, "base.jsonl")).entries] == [10, 2, 3, 4]
    assert {one.count for one in read(saved(base, "base.json")).entries} == {None}
