"""The line through times and bytes, and what is above it."""

import shlex
import sys

import msgspec
import numpy as np
import pytest

from opperf.commands.registry import show
from opperf.commands.run import run as run_options
from opperf.instruments.profilers.summary import summarise as summarise_samples
from opperf.model import (
    DECLARED,
    Case,
    Interpreter,
    OperatorTarget,
    Record,
    Settings,
    Status,
    TensorSpec,
)
from opperf.reports.run_page import markdown_text
from opperf.reports.run_tables import outlier_table
from opperf.reports.summary import summarise
from opperf.results.figures import CaseFigures
from opperf.results.outliers import (
    MIN_POINTS,
    Line,
    Outlier,
    commands_for,
    fit_line,
    is_fuzzed,
    outliers,
)


def shaped(moved, ns, name="relu", tags=(), **metrics):
    case = Case(OperatorTarget("mxnet", name), {"data": TensorSpec((moved // 8,))}, tags=tags)
    times = {metric: summarise_samples([ns], "ns") for metric, ns in metrics.items()}
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={"forward": summarise_samples([ns], "ns"), **times},
        moved_bytes=moved,
    )


def on_a_line(call_ns, byte_ns, count=12, **how):
    sizes = np.geomspace(2**10, 2**24, count).astype(int)
    return [shaped(int(size), call_ns + byte_ns * size, **how) for size in sizes]


@pytest.mark.parametrize(("call_ns", "byte_ns"), [(5000, 0.1), (100, 2.0), (20000, 0.01)])
def test_the_line_is_found_from_a_microsecond_to_a_second(call_ns, byte_ns):
    sizes = np.geomspace(2**10, 2**26, 30)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.03, 30))
    line = fit_line(sizes, (call_ns + byte_ns * sizes) * noise)
    assert line.at(sizes[0]) == pytest.approx(call_ns + byte_ns * sizes[0], rel=0.06)
    assert line.at(sizes[-1]) == pytest.approx(call_ns + byte_ns * sizes[-1], rel=0.06)


def test_outliers_do_not_draw_the_line_to_themselves():
    sizes = np.geomspace(2**10, 2**24, 20)
    times = 3000 + 0.2 * sizes
    times[[4, 15]] *= 8
    assert fit_line(sizes, times).at(2**20) == pytest.approx(3000 + 0.2 * 2**20, rel=0.05)


def test_the_worst_comes_first_with_its_ratio():
    records = on_a_line(4000, 0.1)
    slow = shaped(2**20 + 8, 5 * (4000 + 0.1 * 2**20))
    (worst, second, *_) = outliers([*records, slow])
    assert worst.record is slow and worst.ratio == pytest.approx(5, rel=0.15)
    assert second.ratio == pytest.approx(1, rel=0.1)


def test_each_pass_and_each_configuration_has_a_line_of_its_own():
    one = on_a_line(4000, 0.1, tags=("configuration 0",), backward=9000)
    other = on_a_line(4000, 10.0, tags=("configuration 1",))
    found = outliers([*one, *other])
    assert {outlier.time.metric.name for outlier in found} == {"forward", "backward"}
    assert all(outlier.ratio == pytest.approx(1, rel=0.05) for outlier in found)


def test_configurations_of_few_shapes_have_a_line_together():
    few = [shaped(2**i, 1000 + 2**i, tags=(f"configuration {i % 4}",)) for i in range(10, 18)]
    assert len(outliers(few)) == len(few)
    assert outliers(few[: MIN_POINTS - 1]) == []


def test_five_shapes_make_a_line():
    few = on_a_line(4000, 0.1, count=5)
    assert len(outliers(few)) == 5 and outliers(few[1:]) == []


def test_configurations_of_few_shapes_do_not_spoil_the_line_of_one_of_many():
    many = on_a_line(4000, 0.1, count=5, tags=("many",))
    few = on_a_line(40000, 10.0, count=4, tags=("few",))
    assert {outlier.record.case.tags for outlier in outliers([*many, *few])} == {("many",)}


def test_operators_have_lines_of_their_own():
    found = outliers([*on_a_line(4000, 0.1), *on_a_line(90000, 5.0, name="exp")])
    assert len(found) == 24
    assert all(outlier.ratio == pytest.approx(1, rel=0.01) for outlier in found)


def test_what_has_no_time_or_no_size_is_not_compared():
    # A clock that is too coarse gives zeros; of a case that failed the bytes are not known.
    records = [*on_a_line(4000, 0.1, count=5), shaped(2**12, 0.0), shaped(0, 4000.0)]
    assert len(outliers(records)) == 5
    assert outliers([*records[1:5], *[shaped(2**12, 0.0)] * 9]) == []


def test_a_nanosecond_is_a_time():
    assert len(outliers([shaped(2**n, 1.0) for n in range(10, 15)])) == 5


def test_a_point_is_told_by_the_line_at_its_bytes():
    record = shaped(1000, 9000.0)
    outlier = Outlier(record, Line(2000.0, 2.5), CaseFigures(record).measured["forward"])
    assert (outlier.expected_ns, outlier.ratio) == (4500.0, 2.0)
    columns = outlier_table([outlier], [record]).columns
    assert {column.title: column.whole()[0] for column in columns} == {
        "Outlier": "relu",
        "Pass": "forward",
        "Inputs": "data: (125,)",
        "Id": record.id,
        "Moved": "1.000",
        # Of a single sample.
        "Median": "9.000 ?",
        "Line": "4.500",
        "Ratio": "2.00",
    }


def fuzzed(run, records, **fuzz):
    """The run, made one of random shapes."""
    options = {"command": "x", "selection": {"fuzz": {"count": 20, **fuzz}, "size": "small"}}
    header = msgspec.structs.replace(run.header, options=options)
    return msgspec.structs.replace(run, header=header, records=tuple(records))


def with_settings(record, **settings):
    case = msgspec.structs.replace(record.case, settings=Settings(**settings))
    return msgspec.structs.replace(record, case=case, id=case.id)


def test_the_commands_have_what_is_not_usual(run):
    record = shaped(4096, 1.0, name="sum")
    some = fuzzed(run, [record], least=7, most=99)
    words = f"--fuzz-shapes 20 --min-elements 7 --max-elements 99 --id {record.id}"
    assert commands_for(some, record) == {
        "run": f"opperf run sum --framework mxnet {words}",
        "show": f"opperf show sum --framework mxnet {words}",
    }
    # As it comes out of a run file.
    read = msgspec.json.decode(msgspec.json.encode(record), type=Record)
    assert commands_for(some, read) == commands_for(some, record)


def test_the_commands_have_sizes_and_shapes_of_a_run_without_random_ones(run):
    record = shaped(4096, 1.0, name="sum")
    selection = {"size": "small", "shapes": {"data": [64, 2048]}}
    header = msgspec.structs.replace(run.header, options={"selection": selection})
    some = msgspec.structs.replace(run, header=header, records=(record,))
    words = f"--framework mxnet --size small --shape data=64x2048 --id {record.id}"
    assert commands_for(some, record)["run"] == f"opperf run sum {words}"


def test_the_commands_have_as_many_configurations(run):
    record = shaped(4096, 1.0, name="sum")
    some = fuzzed(run, [record])
    some.header.options["selection"]["configurations"] = 1
    words = f"sum --framework mxnet --max-configs 1 --fuzz-shapes 20 --id {record.id}"
    assert commands_for(some, record)["show"] == f"opperf show {words}"


def test_the_script_is_shown_where_show_has_an_option_for_every_setting(run):
    record = shaped(4096, 1.0, name="sum")
    other = with_settings(record, seed=5, dtype="float64", profiler="python")
    words = "sum --framework mxnet --fuzz-shapes 20 --dtype float64 --profiler python --seed 5"
    assert commands_for(fuzzed(run, [other]), other) == {
        name: f"opperf {name} {words} --id {other.id}" for name in ("run", "show")
    }
    own = with_settings(record, imports=("kernels", "more.py"), input_function="kernels.py:make")
    words = "--import kernels --import more.py --inputs kernels.py:make"
    assert words in commands_for(fuzzed(run, [own]), own)["show"]
    cold = with_settings(record, cache="cold")
    assert list(commands_for(fuzzed(run, [cold]), cold)) == ["run"]


def test_the_command_line_reads_the_commands(run, tmp_path):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    interpreters = (
        Interpreter(str(python), "new", "mxnet"),
        Interpreter(sys.executable, "old", "mxnet"),
    )
    settings = {
        "device": "gpu(1)",
        "dtype": "float16",
        "profiler": "python",
        "threads": 4,
        "env": {"A": "1 2", "B": ""},
        "python": "new",
        "mode": "compiled",
        "phase": "train",
        "cache": "cold",
        "options": {"fake.turbo": "true", "fake.stretch": "2"},
        "autocast": "bfloat16",
        "memory_format": "channels_last",
        "compile_cache": "cold",
        "callgrind_cache": True,
        "grad": "weight,bias",
        "node": "a",
    }
    assert set(settings) == {name for name, one in DECLARED.items() if one.identity}
    record = with_settings(shaped(4096, 1.0), seed=5, **settings)
    header = msgspec.structs.replace(run.header, interpreters=interpreters)
    some = fuzzed(msgspec.structs.replace(run, header=header), [record], least=7, most=99)
    words = shlex.split(commands_for(some, record)["run"])
    given = run_options.make_context("run", words[2:]).params
    assert given["callgrind_cache"] is True and given["grad"] == "weight,bias"
    for name in settings.keys() - {"env", "options", "python", "callgrind_cache", "grad"}:
        assert given[name] == (settings[name],)
    for field in ("env", "options"):
        assert given[field] == (settings[field],)
    assert [str(one) for one in given["interpreters"]] == list(map(str, interpreters))
    assert (given["framework"], given["names"], given["seed"]) == ("mxnet", ("relu",), 5)
    assert (given["fuzz_shapes"], given["least_elements"], given["most_elements"]) == (20, 7, 99)
    assert given["ids"] == (record.id,)
    plain = with_settings(record, seed=5, device="gpu(1)", dtype="float16", profiler="python")
    shown = show.make_context("show", shlex.split(commands_for(some, plain)["show"])[2:]).params
    assert (shown["name"], shown["ids"], shown["seed"]) == ("relu", (plain.id,), 5)
    assert (shown["device"], shown["dtype"], shown["profiler"]) == ("gpu(1)", "float16", "python")


def test_which_runs_are_of_random_shapes(run):
    assert is_fuzzed(fuzzed(run, ())) and not is_fuzzed(run)
    for options in ({}, {"selection": None}):
        header = msgspec.structs.replace(run.header, options=options)
        assert not is_fuzzed(msgspec.structs.replace(run, header=header))


def test_ten_shapes_are_told_of_in_columns(run):
    records = [*on_a_line(4000, 0.1, name="sum"), shaped(2**20 + 8, 10**7, name="sum")]
    text = summarise(fuzzed(run, records), 1.0).split("\n\n")
    (table,) = [section for section in text if section.startswith("Outlier ")]
    titles, _, *rows = table.splitlines()
    assert len([row for row in rows if row.startswith("sum")]) == 10 and rows[0].split()[0] == "sum"
    # Texts begin where their titles begin, numbers end below theirs.
    for title, begins in (("Pass", "forward"), ("Inputs", "data")):
        assert rows[0].index(begins) == titles.index(title)
    place = titles.index("Moved kB") + len("Moved kB")
    assert rows[0][:place].rstrip().endswith(f" {(2**20 + 8) / 1000:.0f}")
    section = markdown_text(fuzzed(run, records)).split("## Outliers")[1].split("## ")[0]
    page = [line for line in section.splitlines() if line.startswith("|")]
    ends = [cell.endswith(":") for cell in page[1].strip("|").split("|")]
    assert len(page) == 12 and ends == [False] * 4 + [True] * 4


def test_a_run_of_random_shapes_tells_of_them(run):
    slow = shaped(2**20 + 8, 10**7, name="sum")
    some = fuzzed(run, (*on_a_line(4000, 0.1, name="sum"), slow), most=99)
    for text in (summarise(some, 1.0), markdown_text(some)):
        assert "Outlier" in text
        for name in ("run", "show"):
            assert (
                f"opperf {name} sum --framework mxnet --fuzz-shapes 20 --max-elements 99 "
                f"--id {slow.id}"
            ) in text
    assert "Outlier" not in summarise(run, 1.0)
