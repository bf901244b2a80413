"""Which case of one file is compared with which of the other, and by what kind of verdict."""

import json
import math

import msgspec
import pytest

from opperf.compare.files.joining import By, joined
from opperf.compare.files.judging import Question, compare
from opperf.compare.files.reading import entry_of, read
from opperf.compare.statistics.data import Rules
from opperf.errors import RunFileError, UsageError
from opperf.model import Status


@pytest.fixture
def asked(saved):
    """Compares two runs by way of their files."""

    def ask(base, new, extensions=("jsonl", "jsonl"), **question):
        files = [
            read(saved(run, f"{side}.{extension}"))
            for side, run, extension in zip(("base", "new"), (base, new), extensions, strict=True)
        ]
        return compare(*files, Question(**question))

    return ask


def verdicts(comparison):
    return {(row.operator, row.inputs, row.metric): row.verdict.value for row in comparison.rows}


def test_cases_are_joined_by_id(run, record, asked):
    base = run(record("relu"), record("relu", shape=(8,)), record("exp"))
    new = run(record("relu", shape=(8,), factor=2.0), record("exp"), record("log"))
    found = asked(base, new, metrics=("forward",))
    assert verdicts(found) == {
        ("relu", "data: (8,)", "forward"): "suspect",
        ("exp", "data: (4, 4)", "forward"): "unsuspicious",
    }
    assert [(c.kind.value, c.operator, c.inputs) for c in found.changes] == [
        ("disappeared", "relu", "data: (4, 4)"),
        ("appeared", "log", "data: (4, 4)"),
    ]


def test_a_time_of_two_files_is_suspect_at_most(run, record, asked):
    found = asked(run(record(factor=1.0)), run(record(factor=5.0)))
    times = [row for row in found.rows if row.unit == "ns"]
    assert {row.verdict.value for row in times} == {"suspect"}
    assert times[0].low < 5.0 < times[0].high
    assert any("not interleaved" in note for note in found.notes)


def test_memory_has_a_verdict_and_no_interval(run, record, asked):
    base = run(record("relu", memory=1e6), record("exp", memory=1e6), record("log", memory=1e6))
    new = run(record("relu", memory=2e6), record("exp", memory=5e5), record("log", memory=1e6))
    found = asked(base, new, metrics=("memory",))
    assert [(row.operator, row.verdict.value, row.ratio) for row in found.rows] == [
        ("relu", "regressed", pytest.approx(2.0)),
        ("log", "same", pytest.approx(1.0)),
        ("exp", "improved", pytest.approx(0.5)),
    ]
    assert {(row.low, row.high) for row in found.rows} == {(None, None)}
    assert found.notes == () and found.confirm == ""


def test_memory_that_is_noted_as_unsound_is_suspect(run, record, asked):
    noted = record(memory=2e6, notes={"memory": "measured where operators had run before"})
    (row,) = asked(run(record(memory=1e6)), run(noted), metrics=("memory",)).rows
    assert row.verdict.value == "suspect"
    assert "workspace" in row.note and row.caveat.startswith("new: measured where")


def test_what_is_odd_about_a_figure_is_told(run, record, asked):
    one = record(notes={"forward noisy": "the machine was busy"})
    both, mended = asked(run(one), run(one)), asked(run(one), run(record()))
    assert [row.caveat for row in both.rows] == ["both: the machine was busy", "", ""]
    assert mended.rows[0].caveat == "base: the machine was busy"


def test_the_threshold_is_of_times(run, record, asked):
    base, new = run(record(factor=1.0, memory=1e6)), run(record(factor=1.1, memory=1.05e6))
    strict, loose = (
        asked(base, new, rules=Rules(threshold=share), metrics=("forward", "memory"))
        for share in (0.02, 0.5)
    )
    assert [row.verdict.value for row in strict.rows] == ["suspect", "regressed"]
    assert [row.verdict.value for row in loose.rows] == ["unsuspicious", "regressed"]


@pytest.mark.parametrize("extensions", [("json", "json"), ("json", "jsonl"), ("jsonl", "json")])
def test_averages_give_ratios_and_suspicions(run, record, asked, extensions):
    base = run(record("relu"), record("exp"), record("log", memory=1e6))
    new = run(record("relu", factor=2.0), record("exp"), record("log", memory=2e6))
    found = asked(base, new, extensions)
    assert {row.verdict.value for row in found.rows} == {"suspect", "unsuspicious"}
    by_place = {(row.operator, row.metric): row for row in found.rows}
    relu, exp, log = (
        by_place[place] for place in (("relu", "forward"), ("exp", "backward"), ("log", "memory"))
    )
    assert relu.verdict.value == "suspect" and relu.ratio == pytest.approx(2.0, rel=0.02)
    assert relu.base == pytest.approx(1e6, rel=0.02)
    assert exp.verdict.value == "unsuspicious"
    assert log.verdict.value == "suspect" and (log.base, log.new) == (1e6, 2e6)
    assert all(row.low is None and "no spread" in row.note for row in found.rows)
    assert "no spread" in found.notes[0]
    assert len(found.confirm.split(" --a ")[0].split()) == 3, "times only: opperf ab relu"


def test_results_as_other_versions_write_them(tmp_path, run, record, saved):
    path = tmp_path / "old.json"
    result = {
        "avg_time_forward_relu": 2.0,
        "inputs": {"data": [4, 4]},
        "max_storage_mem_alloc_cpu/0": 3.0,
        "max_storage_mem_alloc_gpu/0": 5.0,
        "p50_time_relu": 1.0,
        "avg_time_relu": 6.0,
    }
    path.write_text(json.dumps({"relu": [result]}))
    (entry,) = read(path).entries
    assert {metric: (f.unit, f.mean) for metric, f in entry.figures.items()} == {
        "forward": ("ns", 2e6),
        "total": ("ns", 6e6),
        "memory": ("B", 5e3),
    }
    found = compare(read(path), read(saved(run(record()), "new.jsonl")), Question())
    assert found.metrics == ("forward", "memory")


def test_the_environment_beside_results_is_read(run, record, asked):
    base, new = run(record()), run(record(), cores=4)
    found = asked(base, new, ("json", "json"))
    assert [(one.field, one.base, one.new) for one in found.differences] == [("cores", 2, 4)]


def test_what_differs_is_told_the_weightiest_first(run, record, asked):
    base = run(record(runs=20), load_1min=0.1)
    new = run(
        record(runs=50),
        versions={"mxnet": "2.0.0", "numpy": "1.26"},
        threads={},
        governor="powersave",
        load_1min=0.2,
        opperf="0.2.0",
    )
    assert [(one.field, one.base, one.new) for one in asked(base, new).differences] == [
        ("versions.mxnet", "1.9.1", "2.0.0"),
        ("versions.numpy", "absent", "1.26"),
        ("threads.OMP_NUM_THREADS", "2", "absent"),
        ("settings.runs", 20, 50),
        ("governor", "performance", "powersave"),
        ("opperf", "0.1.0", "0.2.0"),
    ]
    busy = asked(base, run(record(runs=20), load_1min=3.0))
    assert [one.field for one in busy.differences] == ["load_1min"]


def test_two_moments_of_a_busy_machine_are_no_difference(run, record, asked):
    one, other, quiet = (
        run(record(), health={"cpu_pressure": told, "smt": smt})
        for told, smt in (
            ("3% of the last 10 s", "on"),
            ("4% of the last 10 s", "off"),
            ("ok", "on"),
        )
    )
    assert [d.field for d in asked(one, other).differences] == ["health.smt"]
    assert [d.field for d in asked(one, quiet).differences] == ["health.cpu_pressure"]


def test_kernel_is_the_forward_time_of_the_native_profiler(run, record, asked):
    native = run(record("relu"), record("exp", profiler="python"))
    found = asked(native, native, metrics=("kernel", "forward"))
    assert found.metrics == ("forward", "kernel")
    assert [row.operator for row in found.rows_of("kernel")] == ["relu"]
    python = run(record(profiler="python"))
    with pytest.raises(RunFileError, match="the metric kernel; there is: forward, backward, mem"):
        asked(python, python, metrics=("kernel",))


def test_instructions_have_a_verdict(run, record, asked):
    def counted(number):
        one = record(memory=number)
        summary = msgspec.structs.replace(one.summaries["memory"], unit="instructions")
        return run(msgspec.structs.replace(one, summaries={"instructions": summary}))

    (row,) = asked(counted(1e6), counted(1.1e6), metrics=("instructions",)).rows
    assert (row.verdict.value, row.unit) == ("regressed", "instructions")


def test_what_was_measured_and_is_not_is_broken(run, record, asked):
    failed = {"status": Status.CRASHED, "reason": "signal 11"}
    base = run(
        record("relu"),
        record("exp", status=Status.FAILED, reason="no"),
        record("log"),
        record("abs", status=Status.FAILED, reason="no"),
    )
    new = run(
        record("relu", **failed),
        record("exp"),
        record("new", **failed),
        record("log", backward=False, notes={"backward": "has no gradient"}),
        record("abs", **failed),
    )
    found = asked(base, new)
    assert [(c.kind.value, c.operator, c.metric, c.reason) for c in found.changes] == [
        ("broken", "relu", "", "crashed: signal 11"),
        ("mended", "exp", "", "failed: no"),
        ("broken", "log", "backward", "has no gradient"),
        ("appeared", "new", "", "crashed: signal 11"),
    ]
    assert found.unmeasured == 1
    assert [row.operator for row in found.rows_of("forward")] == ["log"]


def test_a_pass_that_was_not_asked_for_is_not_missed(run, record, asked):
    new = run(record(passes=("forward",), memory=None, **{"profiler": "native"}))
    new = msgspec.structs.replace(
        new,
        records=tuple(
            msgspec.structs.replace(
                one,
                case=msgspec.structs.replace(
                    one.case, settings=msgspec.structs.replace(one.case.settings, memory=False)
                ),
            )
            for one in new.records
        ),
    )
    found = asked(run(record()), new)
    assert found.changes == () and found.metrics == ("forward",)


def test_everything_broken_is_a_comparison_too(run, record, asked):
    new = run(record(status=Status.CRASHED, reason="signal 11"))
    found = asked(run(record()), new, metrics=("forward",))
    assert found.rows == () and [c.kind.value for c in found.changes] == ["broken"]


def test_geometric_means_by_category(run, record, asked):
    base = run(*(record(n, memory=1e6, category=c) for n, c in zip("abc", "xxy", strict=True)))
    new = run(
        *(
            record(n, memory=m, category=c)
            for n, m, c in zip("abc", (4e6, 1e6, 8e6), "xxy", strict=True)
        )
    )
    found = asked(base, new, metrics=("memory",))
    assert [(m.category, m.metric, m.cases) for m in found.means] == [
        ("x", "memory", 2),
        ("y", "memory", 1),
        ("all", "memory", 3),
    ]
    assert [m.ratio for m in found.means] == pytest.approx([2.0, 8.0, 32 ** (1 / 3)])


def test_a_figure_that_is_zero_or_no_number_has_no_ratio(run, record, asked):
    one = record(memory=0.0)
    odd = msgspec.structs.replace(
        one,
        samples=one.samples | {"forward": [*one.samples["forward"][1:], math.nan]},
        summaries=one.summaries
        | {"backward": msgspec.structs.replace(one.summaries["backward"], median=math.nan)},
    )
    found = asked(run(record(memory=1e6)), run(odd))
    told = {row.metric: (row.verdict.value, row.ratio) for row in found.rows}
    assert told["memory"] == ("improved", None)
    assert told["backward"] == ("ambiguous", None)
    assert told["forward"][0] == "ambiguous"
    assert "finite" in found.rows_of("forward")[0].note
    assert [mean.metric for mean in found.means] == ["forward", "forward"]


def test_cases_of_one_key_are_paired_in_their_order(record):
    entries = [entry_of(record(seed=1)), entry_of(record("exp")), entry_of(record(seed=2))]
    pairs = joined(entries, entries[::-1], By.SHOWN)
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
        ({"shape": (2,)}, {"shape": (3,)}, "1 operator in both, with other inputs"),
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
    with pytest.raises(RunFileError, match="size small against default; measure both alike"):
        asked(small, usual)


def test_settings_can_be_ignored(run, record, asked):
    base, new = run(record(threads=1)), run(record(threads=4, factor=2.0))
    found = asked(base, new, ignore_settings=True, metrics=("forward",))
    assert verdicts(found) == {("relu", "data: (4, 4)", "forward"): "suspect"}
    assert [(one.field, one.base, one.new) for one in found.differences] == [
        ("settings.threads", 1, 4)
    ]
    assert found.confirm == "opperf ab relu --a threads:1 --b threads:4"


def test_the_filter_takes_the_patterns_of_run(run, record, asked):
    both = run(record("relu"), record("broadcast_add"), record("sum"), record("exp"))
    found = asked(both, both, patterns=("relu", "broadcast_*", "re:^su"), metrics=("forward",))
    assert {row.operator for row in found.rows} == {"relu", "broadcast_add", "sum"}
    assert found.base.cases == 3
    with pytest.raises(UsageError, match="'rleu'; did you mean relu"):
        asked(both, both, patterns=("rleu",))
    with pytest.raises(UsageError, match="no regular expression"):
        asked(both, both, patterns=("re:(",))


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        ({}, "opperf ab relu --a python:/path/to/base/python --b python:/path/to/new/python"),
        (
            {"threads": {"OMP_NUM_THREADS": "4"}},
            "opperf ab relu --a env:OMP_NUM_THREADS=2 --b env:OMP_NUM_THREADS=4",
        ),
        ({"threads": {}}, "opperf ab relu --a env:OMP_NUM_THREADS=2"),
        (
            {"versions": {"mxnet": "2.0.0"}, "threads": {}},
            "opperf ab relu --a python:/path/to/base/python --a env:OMP_NUM_THREADS=2 "
            "--b python:/path/to/new/python",
        ),
    ],
)
def test_the_confirming_command_has_the_arms_that_differ(run, record, asked, changed, command):
    base = run(record("relu"), record("exp"))
    new = run(record("relu", factor=1.5), record("exp"), **changed)
    assert asked(base, new).confirm == command


def test_the_confirming_command_has_the_cases_of_the_files(run, record, asked):
    settings = {"dtype": "float16", "profiler": "python", "threads": 4}
    base = run(record("a b", **settings), selection={"size": "small"})
    new = run(record("a b", factor=2.0, **settings), cores=8)
    assert asked(base, new).confirm == (
        "opperf ab 'a b' --a python:/path/to/base/python --a threads:4 "
        "--b python:/path/to/new/python --b threads:4 "
        "--size small --dtype float16 --profiler python"
    )


def test_the_confirming_command_names_the_largest_changes(run, record, asked):
    names = [f"op{number:02d}" for number in range(30)]
    base = run(*(record(name) for name in names))
    new = run(*(record(name, factor=2.0 + number) for number, name in enumerate(names)))
    words = asked(base, new).confirm.split()
    assert words[2:22] == names[:9:-1] and words[22] == "--a"
