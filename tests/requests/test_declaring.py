"""Fields of requests: each is an option, a keyword of Python and words of a command alike."""

import sys
from pathlib import Path

import pytest

from opperf.api.run import from_keywords, words_of
from opperf.commands.run import run
from opperf.errors import UsageError
from opperf.requests.declaring import declared, value_of
from opperf.requests.run import RunRequest

FIELDS = declared(RunRequest)

VALUES = {
    "names": ("relu,add", ("relu", "add")),
    "resume": ("", ""),
    "retry": ("failed", ("failed",)),
    "columns": ("forward,p90", ("forward", "p90")),
    "shapes": ("data=4xn", {"data": (4, "n")}),
    "values": ("axis=(1, 2)", {"axis": (1, 2)}),
    "sweeps": ("n=8..32:x2", {"n": (8, 16, 32)}),
    "precision": ("0.05", 0.05),
    "verify": ("reference", "reference"),
    "max_time_s": ("0.5", 0.5),
    "timeout_s": ("30", 30.0),
    "batch_factor": ("0.25", 0.25),
    "delay_ms": ("2.5", 2.5),
    "env": ("A=1|2", ({"A": "1"}, {"A": "2"})),
    "options": ("a.b=true|false", ({"a.b": "true"}, {"a.b": "false"})),
    "threads": ("1,all", (1, None)),
    "device": ("cpu,gpu(0)", ("cpu", "gpu(0)")),
    "dtype": ("float64", ("float64",)),
    "autocast": ("bfloat16", ("bfloat16",)),
    "compile_cache": ("cold", ("cold",)),
    "phase": ("train", ("train",)),
    "cache": ("hot,cold", ("hot", "cold")),
    "labels": ("a=b", {"a": "b"}),
    "nodes": ("GPU=8", {"GPU": "8"}),
    "skip": ("aten::mm=slow", {"aten::mm": "slow"}),
    "ranks": ("2", 2),
    "gaps": ("recorded", "recorded"),
    "size": ("small", "small"),
    "int64_tensor": ("on", "on"),
    "output_format": ("md", "md"),
    "imports": ("kernels", ("kernels",)),
    "grad": ("weight", "weight"),
}
"""Texts of fields, each with its value; those of numbers, paths and names are made."""


def text_and_value(name):
    field = FIELDS[name]
    if name in VALUES:
        return VALUES[name]
    if name == "interpreters":
        return f"mine:{sys.executable}", None
    if name == "requirements":
        return "numpy==1.26", None
    kinds = str(field.kind)
    if "Path" in kinds:
        return ".", Path()
    if "int" in kinds and "tuple" not in kinds or name in ("warmup", "runs"):
        return "3", 3
    return ("x", ("x",)) if field.is_repeated else ("x", "x")


def parsed(*words):
    return run.request_of(run.make_context("run", [*words]))


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if not field.is_flag])
def test_a_value_is_the_same_by_option_keyword_and_word(name):
    field = FIELDS[name]
    text, value = text_and_value(name)
    request = parsed(f"{field.shown}={text}") if field.names else parsed(text)
    assert request.given == {name}
    if value is not None:
        assert value_of(request, name) == value
    assert parsed(*words_of(request)) == request
    if name not in RunRequest.no_keywords and field.names:
        for keyword in field.keywords:
            assert from_keywords(RunRequest, (), {keyword: text}) == request
            assert from_keywords(RunRequest, (), {keyword: value_of(request, name)}) == request


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.is_flag])
def test_a_flag_is_the_same_by_option_keyword_and_word(name):
    field = FIELDS[name]
    request = parsed(field.shown)
    assert value_of(request, name) == field.option.flag and request.given == {name}
    assert parsed(*words_of(request)) == request
    if name not in RunRequest.no_keywords:
        assert from_keywords(RunRequest, (), {field.keywords[0]: True}) == request


def test_what_is_no_keyword_is_refused():
    with pytest.raises(UsageError, match="unknown option 'warmups'; did you mean warmup"):
        from_keywords(RunRequest, (), {"warmups": 1})
    with pytest.raises(UsageError, match="unknown option 'resume'"):
        from_keywords(RunRequest, (), {"resume": "x.jsonl"})
    assert from_keywords(RunRequest, ("relu",), {"warmup": None}) == parsed("relu")


def test_values_that_commas_separate_may_be_a_list():
    made = from_keywords(RunRequest, (), {"cpus": [2, 3], "grad": ("x", "y")})
    assert (made.cpus, made.settings.grad) == ("2,3", "x,y")
