"""The options of PARAM's benchmarks, as those of a run."""

import json
from pathlib import Path

import click
import pytest

import opperf
from opperf.api.run import words_of
from opperf.commands.param import param
from opperf.errors import OutputError, UsageError
from opperf.model import CallableTarget, Case
from opperf.requests.param import output_path, select_cases

TENSOR = {"type": "tensor", "dtype": "float", "shape": [4]}

CASES = [
    Case(CallableTarget("torch", name), {}, source_id=f"torch.{name}|0|0|{i}")
    for name in ("add", "mul")
    for i in range(3)
]


def parsed(*words):
    return param.request_of(param.make_context("param", list(words)))


def words(*given):
    return " ".join(words_of(parsed("-c", __file__, *given).run_request(Path("o.json"))))


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = {"torch.exp": {"config": [{"input": [{"args": [TENSOR]}, {"args": [TENSOR]}]}]}}
    Path("exp.json").write_text(json.dumps(content))
    return "exp.json"


def called(*given):
    """Runs the command without measuring."""
    return parsed(*given).run(lambda line: None, "opperf param", lambda run: 0)[0]


def test_the_defaults_are_those_of_param():
    assert words() == (
        "--no-backward --ctx=cpu(0) --profiler=python --threads=1 --warmup=1 --runs=1 "
        "--output-file=o.json --output-format=param --overwrite"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("-w", "5", "-i", "7"), "--warmup=5 --runs=7"),
        (("-d", "cuda"), "--ctx=gpu(0) --profiler=python"),
        (("-d", "cuda:1", "--exec-mode", "continuous_events"), "--ctx=gpu(1) --profiler=events"),
        (("--exec-mode", "continuous_events"), "--ctx=cpu(0) --profiler=python"),
        (("-d", "cuda", "--cuda-l2-cache", "off"), "--cache=cold"),
        (("-d", "cuda", "--cuda-graph"), "--mode=graph"),
        (("--pt2-model",), "--mode=compile"),
        (("-l", "error"), "--quiet"),
        (("--exec-mode", "--cuda-l2-cache"), "--profiler=python"),
        (("--ncu", "--ncu-bin", "a b", "--ncu-warmup", "0"), "--ncu --ncu-bin=a b --ncu-warmup=0"),
        (("--nsys", "--nsys-iteration", "3"), "--nsys --nsys-iteration=3"),
        (("--batch-cmd", "perf stat"), "--batch-cmd=perf stat"),
        (("--ncu", "--run-batch-size", "2", "--batch-cuda-device", "0"), "--run-batch-size=2 --b"),
    ],
)
def test_an_option_has_one_of_opperfs(given, expected):
    assert expected in words(*given)


@pytest.mark.parametrize("given", [("-b",), ("--cuda-l2-cache", "off"), ("-l", "INFO")])
def test_an_option_adds_nothing_where_it_is_not_needed(given):
    made = words(*given)
    assert "--cache" not in made and "--quiet" not in made
    assert ("--no-backward" in made) != (given == ("-b",))


@pytest.mark.parametrize(
    ("begin", "end", "found"),
    [
        (None, None, slice(0, 6)),
        ("torch.add|0|0|1", None, slice(1, 6)),
        ("0|0|1", None, slice(1, 6)),
        (None, "torch.mul|0|0|0", slice(0, 3)),
        ("torch.mul|0|0|0", "0|0|2", slice(3, 5)),
        ("0|0|1", "0|0|0", slice(1, 3)),
    ],
)
def test_cases_are_from_one_id_to_before_another(begin, end, found):
    assert select_cases(CASES, begin, end) == CASES[found]


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [
        ("0|0|7", None, r"-r 0\|0\|7: no case has this id"),
        (None, "torch.ad|0|0|0", "-s torch.ad.*did you mean torch.add"),
        ("torch.mul|0|0|0", "torch.add|0|0|0", "-s torch.add"),
        ("0|0|1", "0|0|1", r"no case from 0\|0\|1 to before 0\|0\|1"),
    ],
)
def test_ids_that_match_nothing_are_errors(begin, end, message):
    with pytest.raises(UsageError, match=message):
        select_cases(CASES, begin, end)


def test_an_output_is_a_prefix_or_a_file():
    assert output_path("a/b.json") == Path("a/b.json")
    made = output_path("a/result")
    assert made.parent == Path("a") and made.name.startswith("result_") and made.suffix == ".json"
    assert len(made.stem.split("_")) == 3


def test_without_calls_the_cases_are_expanded_and_written(config):
    assert called("-c", config, "-w", "0", "-i", "0", "-o", "out.json", "-s", "0|0|1") == 0
    first, case, last = map(json.loads, Path("out.json").read_text().splitlines())
    assert first["run_options"]["iteration"] == 0 and "finish_time" in last
    assert (case["op_name"], case["id"], case["metric"]) == ("torch.exp", "0|0|0", {})
    assert case["config"]["input"]["args"] == [TENSOR | {"requires_grad": True}]


def test_an_output_is_replaced_or_appended_to(config):
    for given, lines in (((), 4), ((), 4), (("-a",), 8)):
        called("-c", config, "-w", "0", "-i", "0", "-o", "out.json", *given)
        assert len(Path("out.json").read_text().splitlines()) == lines


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "name the configuration: -c FILE"),
        (("-c", "none.json"), "none.json: no such file"),
        (("-c", "exp.json", "-i", "0"), "-i 0 times nothing"),
        (("-c", "exp.json", "--cuda-graph"), "add -d cuda"),
        (("-c", "exp.json", "-d", "cuda", "--cuda-graph", "--pt2-model"), "use one of them"),
        (("-c", "exp.json", "-d", "warp"), "-d: 'warp' is no device"),
        (("-c", "exp.json", "-r", "9|9|9"), "no case has this id"),
        (("-c", "log.txt"), "log.txt is no configuration; `opperf run log.txt` measures it"),
    ],
)
def test_what_cannot_be_done_is_one_line(config, given, message):
    Path("log.txt").write_text("Operator: aten.mm.default\ncnt: 1, ((T([2, 2], f32),), {})\n")
    with pytest.raises(UsageError, match=message):
        called(*given)


def test_an_output_that_cannot_be_written_is_an_error(config):
    with pytest.raises(OutputError, match="does not exist"):
        called("-c", config, "-w", "0", "-i", "0", "-o", "no/out.json")


@pytest.mark.parametrize("given", [("-w", "-1"), ("--exec-mode", "discreet"), ("-l", "LOUD")])
def test_a_wrong_value_is_refused(given):
    with pytest.raises(click.UsageError):
        parsed("-c", "x.json", *given)


def test_the_version(capsys):
    assert param.main(["--version"], standalone_mode=False) == 0
    assert capsys.readouterr().out == f"opperf {opperf.__version__}\n"
