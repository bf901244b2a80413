"""From the command line's words to what is selected and how it is run."""

import json
import re
import sys
from pathlib import Path

import click
import pytest

from opperf.commands import running as command
from opperf.commands.run import run
from opperf.errors import UsageError
from opperf.model import Settings, Status
from opperf.requests.selecting import split_sources
from opperf.rules.extents import Fuzz
from opperf.sources.selecting import Selection
from tests.traces.making import relu, write


@pytest.fixture
def options(monkeypatch):
    """The request of `opperf run` with these arguments."""
    caught = []
    monkeypatch.setattr(command, "run_command", lambda request, _: caught.append(request) or 0)

    def parsed(*arguments):
        run.main([*arguments, "--framework", "fake"], standalone_mode=False)
        return caught.pop()

    return parsed


@pytest.fixture
def selection(options):
    return lambda *arguments: options(*arguments).selection


@pytest.mark.parametrize(
    "arguments, output, output_format",
    [
        ((), "fake_operator_benchmarks.json", "json"),
        (("-f", "MD"), "fake_operator_benchmarks.md", "md"),
        (("-f", "csv"), "fake_operator_benchmarks.csv", "csv"),
        (("-f", "jsonl"), "fake_operator_benchmarks.jsonl", "jsonl"),
        (("-o", "a"), "a", "json"),
        (("-o", "a", "-f", "csv"), "a", "csv"),
        (("-o", "d.d/a"), "d.d/a", "json"),
        (("-o", "a.json"), "a.json", "json"),
        (("-o", "a.jsonl"), "a.jsonl", "jsonl"),
        (("-o", "a.b.md"), "a.b.md", "md"),
        (("-o", "A.MarkDown"), "A.MarkDown", "md"),
        (("-o", "a.csv", "-f", "CSV"), "a.csv", "csv"),
        (("-o", "-"), "-", "json"),
        (("-o", "-", "-f", "md"), "-", "md"),
        (("--resume",), "fake_operator_benchmarks.json", "json"),
        # A run file named alone is where the run goes on; other formats are called after it.
        (("--resume", "d/a.b.jsonl"), "d/a.b.jsonl", "jsonl"),
        (("--resume", "d/a.b.jsonl", "-f", "csv"), "d/a.b.csv", "csv"),
        (("--resume", "d/a.jsonl", "-f", "json"), "d/a.json", "json"),
        (("--resume", "a.jsonl", "-o", "b.json"), "b.json", "json"),
        (("--resume", "a.run", "-f", "jsonl"), "a.run", "jsonl"),
        (("--resume", "a.run"), "fake_operator_benchmarks.json", "json"),
    ],
)
def test_where_a_run_is_written(options, arguments, output, output_format):
    made = options(*arguments)
    assert (made.output, made.output_format) == (Path(output), output_format)


def test_the_default_output_of_files_alone_is_named_after_their_framework(options, tmp_path):
    path = str(write(tmp_path / "trace.json", [relu(3)]))
    made = options(path)
    assert (made.output, made.is_default_output) == (Path("torch_operator_benchmarks.json"), True)
    assert options(path, "--replay", "-f", "md").output == Path("torch_operator_benchmarks.md")
    assert options(path, "relu").output == Path("fake_operator_benchmarks.json")


def test_a_run_is_resumed_from_its_output_or_from_a_run_file(options):
    assert (options().resuming, options().resume) == (False, None)
    assert (options("--resume").resuming, options("--resume").resume) == (True, None)
    named = options("--resume", "a.jsonl")
    assert (named.resuming, named.resume) == (True, Path("a.jsonl"))


def test_what_is_tried_again(options):
    assert options("--resume").retry == frozenset()
    found = options("--resume", "--retry", "failed,CRASHED", "--retry", "timeout").retry
    assert found == {Status.FAILED, Status.CRASHED, Status.TIMEOUT}


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--resume", "--overwrite"), "--resume and --overwrite exclude each other"),
        (("--resume", "a.jsonl", "--overwrite"), "--resume and --overwrite exclude each other"),
        (("--retry", "failed"), "--retry needs --resume"),
    ],
)
def test_options_at_odds(options, arguments, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        options(*arguments)


@pytest.mark.parametrize(
    "arguments, axes",
    [
        ((), {}),
        (("--ctx", "cpu,gpu(1)"), {"device": ("cpu", "gpu(1)")}),
        (("--dtype", "Float64", "--dtype", "float16,float64"), {"dtype": ("float64", "float16")}),
        (("-p", "Python"), {"profiler": ("python",)}),
        (("--threads", "1,2,all"), {"threads": (1, 2, None)}),
        (("--cache", "COLD,hot"), {"cache": ("cold", "hot")}),
        (("--mode", "eager", "--phase", "train"), {"mode": ("eager",), "phase": ("train",)}),
        (("--env", "A=1|2", "--env", "B=x"), {"env": ({"A": "1", "B": "x"}, {"A": "2", "B": "x"})}),
        (
            ("--set", "a.b=True|false", "--set", "c=high"),
            {"options": ({"a.b": "true", "c": "high"}, {"a.b": "false", "c": "high"})},
        ),
        (("--autocast", "OFF,bfloat16"), {"autocast": ("off", "bfloat16")}),
        (
            ("--memory-format", "contiguous,Channels_Last"),
            {"memory_format": ("contiguous", "channels_last")},
        ),
        (("--compile-cache", "warm,cold"), {"compile_cache": ("warm", "cold")}),
        (("--python", sys.executable), {"python": ("",)}),
        (
            ("--python", f"one:{sys.executable}", "--python", f"two:{sys.executable}"),
            {"python": ("one", "two")},
        ),
    ],
)
def test_values_that_multiply(options, arguments, axes):
    assert options(*arguments).axes == axes


@pytest.mark.parametrize(
    "arguments, is_ahead",
    [
        ((), True),
        (("--no-compile-ahead",), False),
        # How long it takes is asked for, which other compilations beside it would change.
        (("--columns", "forward,compilation"), False),
        (("--columns", "first_call"), False),
        (("--columns", "forward,lowering"), True),
        (("--executor", "isolated"), False),
    ],
)
def test_cases_are_compiled_ahead_unless_the_time_of_that_is_asked_for(
    options, arguments, is_ahead
):
    assert options(*arguments).may_compile_ahead is is_ahead


@pytest.mark.parametrize(
    "arguments, words",
    [
        (
            ("--threads", "0"),
            "'0' is not a number of threads; write an integer of at least 1, or all",
        ),
        (("--threads", "two"), "'two' is not a number of threads"),
        (("--cache", "warm"), "'warm' is not one of hot, cold"),
        (("--phase", "test"), "'test' is not one of train, predict"),
        (("--env", "A"), "'A' is not of the form NAME=VALUE or NAME=VALUE|VALUE"),
        (("--set", "a.b"), "'a.b' is not of the form NAME=VALUE or NAME=VALUE|VALUE"),
        (("--compile-cache", "hot"), "'hot' is not one of warm, cold"),
        (("--python", "/no/such/python"), "'/no/such/python': no such program"),
        (
            ("--python", sys.executable, "--python", sys.executable),
            "two interpreters have the label",
        ),
        (("--label", "commit"), "'commit' is not of the form KEY=VALUE"),
        (("--label", "a=1", "--label", "a=2"), "'a' is set twice"),
        (
            ("-o", "a.txt"),
            "'a.txt': .txt is not an extension of what is written here; use .json, .md",
        ),
        (("-o", "a.tsv", "-f", "csv"), "'a.tsv': .tsv is not an extension of what is written here"),
        (("-o", "a.md", "-f", "json"), "json contradicts the extension of the output file 'a.md'"),
        (("-f", "json", "-o", "a.jsonl"), "json contradicts the extension of the output file"),
        (("--precision", "2"), "'2' is not a number greater than 0 and less than 1"),
        (("--runs", "0"), "'0' is not an integer of at least 1"),
    ],
)
def test_a_value_that_means_nothing(options, arguments, words):
    with pytest.raises((click.BadParameter, UsageError), match=re.escape(words)):
        options(*arguments)


def test_an_interpreter_may_be_for_one_framework(options):
    first, second = options(
        "--python", f"old:mxnet={sys.executable}", "--python", f"numpy={sys.executable}"
    ).interpreters
    # A label is there to tell several apart.
    assert (first.path, first.label, first.framework) == (sys.executable, "", "mxnet")
    assert (second.label, second.framework) == ("", "numpy")


def test_nothing_given_is_everything_as_usual(selection):
    assert selection() == Selection(settings=Settings(precision=0.02, timeout_s=300.0))


@pytest.mark.parametrize(
    "arguments, changed",
    [
        (("relu", "add", "--ops", "exp,log"), {"patterns": ("relu", "add", "exp", "log")}),
        (("--exclude", "a*"), {"exclude": ("a*",)}),
        (("--category", "Unary", "--namespace", "NP"), {"categories": ("unary",),
                                                        "namespaces": ("np",)}),
        (("--size", "SMALL"), {"size": "small"}),
        (("--int64-tensor", "ON"), {"int64_tensor": True}),
        (("--shape", "lhs=2x3"), {"shapes": {"lhs": (2, 3)}}),
        (("--shape", "2x3"), {"shapes": {"": (2, 3)}}),
        (("--no-backward",), {"backward": False}),
        (("--max-configs", "2"), {"configurations": 2}),
        (("--shuffle",), {"shuffle": True}),
        (("--rounds", "3"), {"rounds": 3}),
        (("--id", "abc"), {"ids": ("abc",)}),
    ],
)  # fmt: skip
def test_what_is_selected(selection, arguments, changed):
    made = selection(*arguments)
    assert {name: getattr(made, name) for name in changed} == changed
    rest = {name: getattr(made, name) for name in made.__struct_fields__ if name not in changed}
    assert rest == {name: getattr(selection(), name) for name in rest}


@pytest.mark.parametrize(
    "arguments, changed",
    [
        (("-w", "0", "-r", "7"), {"warmup": 0, "runs": 7}),
        (("--precision", "0.1"), {"precision": 0.1}),
        (("--seed", "9"), {"seed": 9}),
        (("--max-time", "3"), {"max_time_s": 3.0}),
        (("--timeout", "1.5"), {"timeout_s": 1.5}),
        (("--no-memory",), {"memory": False}),
    ],
)
def test_how_it_is_run(selection, arguments, changed):
    made, usual = selection(*arguments).settings, selection().settings
    expected = {name: getattr(usual, name) for name in usual.__struct_fields__} | changed
    assert {name: getattr(made, name) for name in expected} == expected


def test_quick_is_a_few_calls_of_one_configuration(options):
    made = options("--quick")
    settings = made.selection.settings
    assert (made.selection.configurations, settings.warmup, settings.runs) == (1, 2, 20)
    assert settings.max_time_s == 0.1
    # Its counts are those of a file's cases too.
    assert made.overriding == {"quick", "framework", "warmup", "runs", "max_time_s"}
    made = options("--quick", "-r", "5", "--max-configs", "3")
    settings = made.selection.settings
    assert (made.selection.configurations, settings.warmup, settings.runs) == (3, 2, 5)
    assert options("-r", "5").overriding == {"runs", "framework"}


@pytest.mark.parametrize(
    "arguments, fuzz",
    [
        ((), None),
        (("--fuzz-shapes", "3"), Fuzz(3)),
        (
            ("--fuzz-shapes", "1", "--min-elements", "10", "--max-elements", "10"),
            Fuzz(1, least=10, most=10),
        ),
    ],
)
def test_random_shapes(selection, arguments, fuzz):
    assert selection(*arguments).fuzz == fuzz


def test_limits_that_nothing_lies_between_are_refused(selection):
    with pytest.raises(UsageError, match="--min-elements 11 is more than --max-elements 10"):
        selection("--fuzz-shapes", "1", "--min-elements", "11", "--max-elements", "10")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--size", "small"), "--size has no effect with --fuzz-shapes"),
        (("--shape", "lhs=2"), "--shape has no effect with --fuzz-shapes"),
    ],
)
def test_random_shapes_are_no_rules(options, arguments, words):
    options(*arguments)
    with pytest.raises(UsageError, match=re.escape(words)):
        options("--fuzz-shapes", "2", *arguments)


@pytest.mark.parametrize("option", ["--min-elements", "--max-elements"])
def test_limits_are_of_random_shapes(options, option):
    options("--fuzz-shapes", "2", option, "65536")
    with pytest.raises(UsageError, match=f"{option} needs --fuzz-shapes"):
        options(option, "65536")


def test_options_about_rules_are_refused_where_only_a_file_is_named(options, tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("Operator: aten.mm.default\ncnt: 1, ((T([2, 2], f32), T([2, 2], f32)), {})\n")
    with pytest.raises(UsageError, match="--size does not apply to"):
        options(str(log), "--size", "large")
    assert options("relu", str(log), "--size", "large").selection.size == "large"
    with pytest.raises(UsageError, match="--scale-batch is for recorded calls"):
        options("relu", "--scale-batch", "0.5")
    assert options(str(log), "--scale-batch", "0.5").selection.batch_factor == 0.5


def test_chains_are_those_of_a_recording(options, tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("Operator: aten.mm.default\ncnt: 1, ((T([2, 2], f32), T([2, 2], f32)), {})\n")
    with pytest.raises(UsageError, match="--chains is for a recording; name one"):
        options("relu", "--chains", "2")
    with pytest.raises(UsageError, match="--chains does not apply to .*log.txt"):
        options(str(log), "--chains", "2")
    header = {"line": "header", "schema": 2, "started": "", "options": {}}
    plain = tmp_path / "recorded.jsonl"
    program = {"command": "train.py", "framework": "torch"}
    plain.write_text(json.dumps(header | {"program": program}) + "\n")
    with pytest.raises(UsageError, match="recorded.jsonl has no chains of calls"):
        options(str(plain), "--chains", "2")


def test_existing_files_are_sources_and_other_words_are_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relu").mkdir()
    (tmp_path / "dot").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "a,b.run").write_text('{"line":"header","schema":2,"started":"","options":{}}\n')
    words = ("relu", "dot", "nd.add", "re:^a", "a,b.run", "kernels.py:f")
    names, files = split_sources(words)
    assert names == ("relu", "dot", "nd.add", "re:^a", "kernels.py:f")
    assert files == (Path("a,b.run"),)
    for word, message in (
        ("gone.jsonl", "gone.jsonl: no such file"),
        ("./sub", "./sub is a folder; name a file in it"),
    ):
        with pytest.raises(UsageError, match=message):
            split_sources([word])


def test_a_partition_is_read_and_checked(selection):
    assert selection().partition is None
    assert selection("--total-partitions", "3", "--partition-id", "2").partition == (2, 3)
    for words, message in (
        (("--total-partitions", "3"), "go together"),
        (("--partition-id", "0"), "go together"),
        (("--total-partitions", "3", "--partition-id", "3"), "of 3 parts the last is 2"),
    ):
        with pytest.raises(UsageError, match=message):
            selection(*words)
