"""Which case of one file is compared with which of the other."""

import msgspec
import pytest

from opperf.comparison.files.joining import By, Pair, check_common, filter_operators, join
from opperf.comparison.files.reading import entry_of
from opperf.errors import RunFileError, UsageError


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
    pairs = join(entries, entries[::-1], By.SHOWN)
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
        for pair in join(entries, entries[:2], By.SHOWN)
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
