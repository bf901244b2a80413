"""The commands list, show and coverage, as a user calls them."""

import contextlib
import json
import re
import sys
from pathlib import Path

import mxnet as mx
import pytest

from opperf.frameworks import scripts
from opperf.instruments.prepared import PreparedCase
from opperf.model import Settings
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.worker import client
from opperf.worker.answers import script
from tests.integration.mxnet_contents import contents


def test_list_names_operators_and_the_second_time_loads_no_framework(command_here, monkeypatch):
    command = command_here
    first, _ = command("list", "broadcast_add", "re:^relu$")
    head, _, *rows = first.splitlines()
    assert head.split()[:4] == ["Operator", "Cases", "Category", "Parameters"]
    name, cases, category, *_ = rows[0].split()
    assert (name, category) == ("broadcast_add", "binary_broadcast") and int(cases) > 1
    assert rows[-1].startswith("2 operators, ")
    with monkeypatch.context() as without:
        without.setattr(client, "Worker", None)
        again, err = command("list", "broadcast_add", "re:^relu$", "--framework", "mxnet")
    assert (again, err) == (first, "")
    (kept,) = command.home.rglob("registry/*.json")
    kept.write_text("{")
    mended, err = command("list", "broadcast_add", "re:^relu$")
    assert mended == first and err.startswith("warning: ") and "made again" in err


def test_list_as_json_is_whole(command_here):
    out, _ = command_here("list", "--category", "gemm", "--namespace", "nd", "--format", "json")
    listed = json.loads(out)
    dot = next(one["operator"] for one in listed if one["operator"]["name"] == "dot")
    assert [p["name"] for p in dot["parameters"]][:2] == ["lhs", "rhs"]
    assert all(one["operator"]["category"] == "gemm" for one in listed)


def test_show_prints_a_script_that_runs(command, command_here):
    out, _ = command_here("show", "sum_axis", "--size", "small", "--format", "json")
    shown = json.loads(out)
    assert shown["operator"]["name"] == "sum" and "sum_axis" in shown["operator"]["aliases"]
    assert len(shown["cases"]) > 1
    text, _ = command_here("show", "_plus_scalar", "--size", "small")
    assert "mx.nd._internal._plus_scalar(" in text and "Parameter" in text and "aliases" in text
    path = command.folder / "script.py"
    path.write_text(shown["cases"][0]["script"])
    command(program=(sys.executable, str(path)))


def test_show_of_what_has_excluded_says_why(command_here):
    out, _ = command_here("show", "_NoGradient")
    assert "none: " in out and "Case" not in out


REFUSED = [
    (("list", "rleu"), ["no operator is called 'rleu'; did you mean relu"]),
    (("list", "--category", "unry"), ["unknown category 'unry'; did you mean unary"]),
    (("list", "re:("), ["'re:(' is not a regular expression"]),
    (("show",), ["Missing argument 'OPERATOR|RUNFILE'"]),
    (("show", "broadcast_*"), ["show takes one", "broadcast_add"]),
    (("show", "relu", "--dtype", "flaot32"), ["unknown dtype 'flaot32'"]),
    (("coverage", "none.jsonl"), ["none.jsonl cannot be read"]),
    (("coverage", "--min", "101"), ["--min", "101"]),
]


@pytest.mark.parametrize("arguments, words", REFUSED)
def test_what_is_refused(command_here, arguments, words):
    out, err = command_here(*arguments, code=2)
    assert out == "" and err.startswith("opperf: ") and err.count("\n") == 1
    for word in words:
        assert word in err, err


def test_coverage_of_a_run_file(command_here):
    command_here("relu", "_NoGradient", "exp", "--size", "small", "-w", "0", "-r", "1",
            "-o", "run.jsonl", "-f", "jsonl")  # fmt: skip
    out, _ = command_here("coverage", "run.jsonl", "--format", "json")
    found = json.loads(out)
    assert (found["forward"], found["backward"]) == (2, 2)
    assert found["distinct"] == len(found["not_measured"]) + 2
    assert found["not_measured"]["sigmoid"] == "not among the records"
    assert found["registered"] > found["names"] > found["distinct"] > 600
    assert "nd" in found["namespaces"]
    assert [found["categories"][name]["forward"] for name in ("unary", "activation")] == [1, 1]
    _, err = command_here("coverage", "run.jsonl", "--min", "97", code=1)
    assert "less than 97 %" in err


def gradients(arrays):
    """The type, dtype, shape and bytes of each array's gradient."""
    return [None if one.grad is None else contents(one.grad) for one in arrays]


def tensors(case, prepared):
    """The tensors of a prepared case, by their names in its script."""
    made = scripts.tensors(case, prepared.arguments)
    return {one.name: one for one in made if one.tensor is not None}


def measured_gradients(framework, case, prepared):
    """The gradients of a case as they are measured."""
    with framework.scope(case):
        framework.gradients.gradient(case, prepared.call, prepared.differentiated)
        mx.nd.waitall()
    found = tensors(case, prepared).values()
    return gradients(one.tensor for one in found if one.spec.gradient)


@pytest.mark.sweep
def test_the_script_of_every_case_has_the_tensors_and_gradients_that_are_measured(framework):
    """In plain MXNet, without opperf's own tensors: the same contents, and the same gradients bit
    for bit, by the same head gradients in the same phase."""
    cases = plan(framework, Selection(size="small", settings=Settings())).cases
    ran, compared, differing = set(), set(), {}
    for case in cases:
        text = script(framework, case)
        if text.startswith("# cannot be made here: "):
            continue
        with framework.scope(case):
            prepared = PreparedCase(case, framework)
        wanted = {name: contents(one.tensor) for name, one in tensors(case, prepared).items()}
        backward = "mx.autograd.backward(" in text
        if backward:
            mx.random.seed(1)
            measured = measured_gradients(framework, case, prepared)
        with contextlib.ExitStack() as stack:
            if "mx.npx.set_np()\n" in text:
                # For this script alone, and not for what comes after it.
                text = text.replace("mx.npx.set_np()\n", "")
                stack.enter_context(mx.util.np_shape(True))
                stack.enter_context(mx.util.np_array(True))
            # The call is behind the last empty line.
            beginning, call = text[: (place := text.rindex("\n\n"))], text[place:]
            namespace = {}
            mx.random.seed(1)
            exec(beginning, namespace)
            if {name: contents(namespace[name]) for name in wanted} != wanted:
                differing[f"{case.label} {case.id}"] = text
                continue
            try:
                exec(call, namespace)
            except mx.base.MXNetError as error:
                assert framework.build.unavailable.search(framework.refusal(error)), text
                continue
        ran.add(case.label)
        if backward:
            compared.add(case.label)
            names = re.findall(r"^(\S+)\.attach_grad\(", text, re.MULTILINE)
            if gradients(namespace[name] for name in names) != measured:
                differing[f"{case.label} {case.id}"] = text
    assert differing == {}
    assert len(compared) > 300 and len(ran) > 0.97 * len({case.label for case in cases})


def test_rules_are_a_table_of_what_made_the_cases(command_here):
    out, _ = command_here("show", "relu", "--rules", "--format", "json")
    rows = json.loads(out)
    assert {"shared family", "binding", "row"} <= {row["layer"] for row in rows}
    file, _, line = next(row["place"] for row in rows if row["layer"] == "row").rpartition(":")
    assert Path(file).name == "elementwise.py" and int(line) > 1
    listed, _ = command_here("list", "relu", "--rules", "--format", "json")
    assert json.loads(listed) == rows
    text, _ = command_here("list", "relu", "--rules")
    assert "shared family" in text and text.rstrip().endswith("cases")
