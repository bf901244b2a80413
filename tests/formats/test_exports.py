"""Run files in other tools' formats, held against what those tools document."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator

from opperf.commands.run_files import export
from opperf.formats import perfetto
from opperf.model import Record, Run, Status, Summary
from opperf.reports.formats import RUN, format_named
from opperf.reports.writing import write

MakeRecord = Callable[..., Record]

NUMBER = {"type": "number"}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}

TOOLS = (*("pytest-benchmark", "bencher", "github-action-benchmark", "hyperfine", "perfetto"),)


def schema_object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object that has these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    } | more


BENCHER = {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": 1024},
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"minLength": 1, "maxLength": 64},
        "additionalProperties": schema_object(
            {"value": NUMBER, "lower_value": NUMBER, "upper_value": NUMBER}, required=["value"]
        ),
    },
}
"""https://bencher.dev/docs/reference/bencher-metric-format, the lengths of names from its orders of
precedence; stricter in that nothing else is allowed."""

GITHUB_ACTION = {
    "type": "array",
    "items": schema_object(
        {"name": TEXT, "unit": TEXT, "value": NUMBER, "range": TEXT, "extra": TEXT},
        required=["name", "unit", "value"],
    ),
}
"""The section on custom benchmarks of github.com/benchmark-action/github-action-benchmark."""

PYTEST_BENCHMARK = schema_object(
    {
        "machine_info": {
            "type": "object",
            "required": [
                "node",
                "processor",
                "machine",
                "python_compiler",
                "python_implementation",
                "python_implementation_version",
                "python_version",
                "python_build",
                "release",
                "system",
                "cpu",
            ],
        },
        "commit_info": {
            "type": "object",
            "required": ["id", "time", "author_time", "dirty", "project", "branch"],
        },
        "datetime": TEXT,
        "version": TEXT,
        "benchmarks": {
            "type": "array",
            "items": schema_object(
                {
                    "group": {"type": ["string", "null"]},
                    "name": TEXT,
                    "fullname": TEXT,
                    "params": {"type": ["object", "null"]},
                    "param": {"type": ["string", "null"]},
                    "extra_info": {"type": "object"},
                    "options": schema_object(
                        {
                            "disable_gc": {"type": "boolean"},
                            "timer": TEXT,
                            "min_rounds": COUNT,
                            "max_time": NUMBER,
                            "min_time": NUMBER,
                            "warmup": {"type": "boolean"},
                        }
                    ),
                    "stats": schema_object(
                        {
                            **dict.fromkeys(
                                ("min", "max", "mean", "stddev", "median", "iqr", "q1", "q3"),
                                NUMBER,
                            ),
                            **dict.fromkeys(("ld15iqr", "hd15iqr", "ops", "total"), NUMBER),
                            **dict.fromkeys(("rounds", "iterations"), COUNT | {"minimum": 1}),
                            **dict.fromkeys(("iqr_outliers", "stddev_outliers"), COUNT),
                            "outliers": {"type": "string", "pattern": "^[0-9]+;[0-9]+$"},
                            "data": {"type": "array", "items": NUMBER, "minItems": 1},
                        }
                    ),
                }
            ),
        },
    }
)
"""The layout of pytest-benchmark's files, of which its own command line reads an export below."""

UNKNOWN = {"type": ["number", "null"]}

HYPERFINE = schema_object(
    {
        "results": {
            "type": "array",
            "items": schema_object(
                {
                    "command": TEXT,
                    **dict.fromkeys(("mean", "median", "min", "max"), NUMBER),
                    **dict.fromkeys(("stddev", "user", "system"), UNKNOWN),
                    "times": {"type": "array", "items": NUMBER},
                    "exit_codes": {"type": "array", "items": {"type": ["integer", "null"]}},
                }
            ),
        }
    }
)
"""Results of github.com/sharkdp/hyperfine, in whose own, user and system are never null."""

EVENT = {"ph": TEXT, "name": TEXT, "pid": COUNT, "tid": COUNT, "args": {"type": "object"}}

PERFETTO = schema_object(
    {
        "traceEvents": {
            "type": "array",
            "items": {
                "oneOf": [
                    schema_object({**EVENT, "ph": {"const": "M"}}),
                    schema_object(
                        {**EVENT, "ph": {"const": "X"}, "cat": TEXT, "ts": NUMBER, "dur": NUMBER}
                    ),
                ]
            },
        }
    }
)
"""Events of the JSON format of Chrome's traces."""

SCHEMAS = {
    "hyperfine": HYPERFINE,
    "perfetto": PERFETTO,
    "pytest-benchmark": PYTEST_BENCHMARK,
    "bencher": BENCHER,
    "github-action-benchmark": GITHUB_ACTION,
}


def sampled(record: Record, factor: float = 1.0) -> Record:
    """The record with samples of its times: 20 of them, from 1 to 1.19 ms times the factor."""
    samples = [factor * (1e6 + 1e4 * step) for step in range(20)]
    times = [metric for metric in ("forward", "backward") if metric in record.summaries]
    return msgspec.structs.replace(record, samples=dict.fromkeys(times, samples))


@pytest.fixture
def sampled_run(run: Run) -> Run:
    return msgspec.structs.replace(run, records=tuple(map(sampled, run.records)))


@pytest.fixture
def exported(tmp_path: Path) -> Callable[..., Any]:
    """What the command makes of a run, as JSON."""

    def made(run: Run, tool: str) -> Any:
        path = tmp_path / "run.jsonl"
        write(run, path, "jsonl")
        done = CliRunner().invoke(export, [str(path), "--to", tool])
        if done.exception:
            raise done.exception
        return json.loads(done.stdout)

    return made


@pytest.mark.parametrize("tool", SCHEMAS)
def test_an_export_is_what_its_tool_documents(
    sampled_run: Run, exported: Callable[..., Any], tool: str
) -> None:
    validator = Draft7Validator(SCHEMAS[tool])
    validator.check_schema(SCHEMAS[tool])
    content = exported(sampled_run, tool)
    assert not [error.message for error in validator.iter_errors(content)]


@pytest.mark.parametrize("tool", SCHEMAS)
def test_an_export_has_every_case_that_was_measured(
    sampled_run: Run, exported: Callable[..., Any], tool: str
) -> None:
    text = json.dumps(exported(sampled_run, tool))
    names = ("relu", "abs", "data: (1024, 1024)", "data: (64,), axis: None", "data: (8,)")
    assert all(name in text for name in names)
    assert not any(name in text for name in ("argmax", "svd"))


def test_samples_lie_within_the_slice_of_their_case(
    sampled_run: Run, exported: Callable[..., Any]
) -> None:
    slices = [one for one in exported(sampled_run, "perfetto")["traceEvents"] if one["ph"] == "X"]
    cases = {one["name"]: one for one in slices if one["cat"] == "opperf case"}
    samples = [one for one in slices if one["cat"] == "opperf sample"]
    assert samples and len(cases) == len({one["ts"] for one in cases.values()})
    for one in samples:
        case = cases[one["args"]["case"]]
        assert case["ts"] <= one["ts"]
        assert one["ts"] + one["dur"] <= case["ts"] + case["dur"] + 1e-6


def test_bencher(sampled_run: Run, exported: Callable[..., Any]) -> None:
    content = exported(sampled_run, "bencher")
    assert content["relu[data: (1024, 1024); mxnet]"] == {
        "latency": {"value": 2e6, "lower_value": 1.9e6, "upper_value": 2.1e6},
        "backward-latency": {"value": 3e6, "lower_value": 2.85e6, "upper_value": 3.15e6},
        "memory": {
            "value": 4194304.0,
            "lower_value": pytest.approx(3984588.8),
            "upper_value": pytest.approx(4404019.2),
        },
    }
    assert list(content["relu[data: (8,); mxnet]"]) == ["latency"]


def test_a_single_figure_has_no_interval(
    run: Run, make_record: MakeRecord, exported: Callable[..., Any]
) -> None:
    one = make_record()
    once = {name: msgspec.structs.replace(s, n=1) for name, s in one.summaries.items()}
    run = msgspec.structs.replace(run, records=(msgspec.structs.replace(one, summaries=once),))
    (measures,) = exported(run, "bencher").values()
    assert measures["memory"] == {"value": 4194304.0}
    assert all("range" not in entry for entry in exported(run, "github-action-benchmark"))


def test_github_action(sampled_run: Run, exported: Callable[..., Any]) -> None:
    content = exported(sampled_run, "github-action-benchmark")
    assert content[0] == {
        "name": "relu[data: (1024, 1024); mxnet] forward",
        "unit": "ms",
        "value": 2.0,
        "range": "± 0.1",
        "extra": f"median of 20 samples\ncase {sampled_run.records[0].id}",
    }
    assert [(entry["unit"], entry["value"]) for entry in content[:3]] == [
        ("ms", 2.0),
        ("ms", 3.0),
        ("kB", 4194.304),
    ]
    assert len({entry["name"] for entry in content}) == len(content)


def test_pytest_benchmark(sampled_run: Run, exported: Callable[..., Any]) -> None:
    content = exported(sampled_run, "pytest-benchmark")
    first = content["benchmarks"][0]
    assert first["name"] == first["fullname"] == "relu.forward[data: (1024, 1024); mxnet]"
    assert first["group"] == "relu.forward"
    assert first["params"] == {"data": [1024, 1024]}
    assert first["extra_info"]["memory_bytes"] == 4194304.0
    stats = first["stats"]
    data = [1e-3 + 1e-5 * step for step in range(20)]
    assert stats["data"] == pytest.approx(data)
    assert stats["rounds"] == 20 and stats["iterations"] == 1
    assert stats["median"] == pytest.approx(statistics.median(data))
    assert stats["stddev"] == pytest.approx(statistics.stdev(data))
    assert stats["ops"] == pytest.approx(1 / statistics.fmean(data))
    assert (stats["ld15iqr"], stats["hd15iqr"]) == pytest.approx((data[0], data[-1]))
    assert stats["q1"] < stats["median"] < stats["q3"]
    assert stats["iqr"] == pytest.approx(stats["q3"] - stats["q1"])
    assert content["machine_info"]["node"] == "host"
    assert content["datetime"] == sampled_run.header.started


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([5e9], {"stddev": 0.0, "q1": 5.0, "q3": 5.0, "outliers": "0;0", "ops": 0.2}),
        ([0.0, 0.0], {"stddev": 0.0, "ops": 0.0, "total": 0.0}),
        ([1e9] * 20 + [9e9], {"iqr_outliers": 1, "hd15iqr": 1.0, "max": 9.0, "outliers": "1;1"}),
    ],
)
def test_statistics_of_few_and_of_odd_samples(
    run: Run,
    make_record: MakeRecord,
    exported: Callable[..., Any],
    samples: list[float],
    expected: dict[str, Any],
) -> None:
    one = msgspec.structs.replace(make_record(), samples={"forward": samples})
    content = exported(msgspec.structs.replace(run, records=(one,)), "pytest-benchmark")
    (benchmark,) = content["benchmarks"]
    assert {name: benchmark["stats"][name] for name in expected} == expected


@pytest.mark.parametrize("columns", ["min,max,mean,stddev,median,iqr,outliers,ops,rounds"])
def test_pytest_benchmark_itself_compares_two_exports(
    tmp_path: Path, run: Run, make_record: MakeRecord, columns: str
) -> None:
    for name, factor in (("base", 1.0), ("new", 3.0)):
        records = (sampled(make_record("relu"), factor), sampled(make_record("abs")))
        write(msgspec.structs.replace(run, records=records), tmp_path / f"{name}.jsonl", "jsonl")
        target = tmp_path / f"{name}.json"
        words = [str(tmp_path / f"{name}.jsonl"), "--to", "pytest-benchmark", "-o", str(target)]
        assert CliRunner().invoke(export, words).exit_code == 0
    words = ["compare", "./base.json", "./new.json", "--csv=table", f"--columns={columns}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Failed to load" not in done.stdout + done.stderr
    assert "benchmark 'relu.forward': 2 tests" in done.stdout
    assert "relu.forward[data: (1024, 1024); mxnet] (new)" in done.stdout
    assert " (3.00)" in done.stdout
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 9


def test_excluded_figures_are_warned_of(
    tmp_path: Path, run: Run, make_record: MakeRecord, exported: Callable[..., Any]
) -> None:
    nan = math.nan
    odd = make_record("odd", summaries={"forward": Summary("ns", 2, *[nan] * 10)})
    bare = make_record("bare")
    crashed = make_record("gone", Status.CRASHED, reason="signal 11")
    records = (sampled(make_record()), odd, bare, crashed)
    path = tmp_path / "run.jsonl"
    write(msgspec.structs.replace(run, records=records), path, "jsonl")
    done = CliRunner().invoke(export, [str(path), "--to", "pytest-benchmark"])
    assert done.stderr.splitlines() == [
        f"warning: {path}: excluded: 1 case without a figure (1 crashed)",
        f"warning: {path}: excluded: 1 figure not finite",
        f"warning: {path}: excluded: 2 times without samples",
    ]
    assert len(json.loads(done.stdout)["benchmarks"]) == 2


@pytest.mark.parametrize("tool", TOOLS)
def test_a_name_does_not_depend_on_cases_with_other_settings(
    run: Run, make_record: MakeRecord, tool: str
) -> None:
    """A gate that goes by names would find none of them, and pass."""
    records = [sampled(make_record())]
    for changed in (
        {"dtype": "float64"},
        {"threads": 2},
        {"mode": "compile", "profiler": "python"},
    ):
        case = records[0].case
        settings = msgspec.structs.replace(case.settings, **changed)
        case = msgspec.structs.replace(case, settings=settings)
        records.append(msgspec.structs.replace(records[0], case=case, id=case.id))
    alone = [exported_names(run, tool, [record]) for record in records]
    together = exported_names(run, tool, records)
    assert together == [name for names in alone for name in names]
    assert len(set(together)) == len(together) and len(alone[0]) >= 1


def exported_names(run: Run, tool: str, records: Sequence[Record]) -> list[str]:
    changed = msgspec.structs.replace(run, records=tuple(records))
    content = json.loads(format_named(tool, RUN).write_run(changed)[0])
    if tool == "bencher":
        return list(content)
    if tool == "hyperfine":
        return [one["command"] for one in content["results"]]
    if tool == "perfetto":
        return [one["name"] for one in content["traceEvents"] if one.get("cat") == perfetto.CASE]
    listed = content["benchmarks"] if tool == "pytest-benchmark" else content
    return [one["name"] for one in listed]
