"""An operator with its cases and their scripts."""

import csv
import io
import json

import pytest

from opperf.model import (
    Case,
    Kind,
    ListedOperator,
    Operator,
    OperatorTarget,
    Parameter,
    Settings,
    TensorSpec,
)
from opperf.reports.showing import report_of, split_preamble
from tests.writing import told

DATA = Parameter(name="data", kind=Kind.TENSOR, required=True)
AXIS = Parameter(name="axis", kind=Kind.INT, required=False, default="-1")
MODE = Parameter(
    name="mode", kind=Kind.ENUM, required=False, default="mean", choices=("mean", "max")
)
BIAS = Parameter(name="bias", kind=Kind.TENSOR, required=False)

SUM = ListedOperator(
    operator=Operator(
        framework="mxnet",
        namespace="nd",
        namespaces=("nd", "np"),
        name="sum",
        aliases=("sum_axis", "_np_sum"),
        parameters=(DATA, AXIS, MODE, BIAS),
        category="reduction",
    ),
    rule="family:reduce",
    cases=12,
)
PLACEHOLDER = ListedOperator(
    operator=Operator(
        framework="mxnet", namespace="internal", name="placeholder", category="graph"
    ),
    reason="does nothing",
)


def fact(text, label):
    """What is told in the line of this label."""
    (line,) = [line for line in text.splitlines() if line.split()[:1] == [label]]
    return line.removeprefix(label).strip()


def test_all_facts_of_an_operator_are_told():
    text = told(report_of(SUM, (), ()))
    assert fact(text, "operator") == "sum" and fact(text, "framework") == "mxnet"
    assert fact(text, "namespaces") == "nd, np" and fact(text, "category") == "reduction"
    assert fact(text, "aliases") == "sum_axis, _np_sum" and fact(text, "rule") == "family:reduce"
    assert fact(text, "data").split() == ["tensor", "required"]
    assert fact(text, "axis").split() == ["int", "optional", "-1"]
    assert fact(text, "mode").split() == ["enum", "optional", "mean", "mean,", "max"]
    assert fact(text, "bias").split() == ["tensor", "optional"]


def test_what_an_operator_does_not_have():
    text = told(report_of(PLACEHOLDER, (), ()))
    assert fact(text, "namespaces") == "internal" and fact(text, "aliases") == "none"
    assert fact(text, "rule") == "none: does nothing"
    assert "Parameter" not in text and "Case" not in text


def test_every_case_has_its_script():
    cases = [
        Case(
            OperatorTarget("mxnet", "sum"),
            {"data": TensorSpec(shape, "float64")},
            settings=Settings(dtype="float64", phase="train"),
            origin="family:reduce",
            why=why,
        )
        for shape, why in (((2, 3), "Rows of a matrix"), ((7,), ""))
    ]
    text = told(report_of(SUM, cases, ("import mxnet\n\nmxnet.nd.sum()\n", "second()")))
    assert text.endswith(
        f"\n\nCase 1 of 2, {cases[0].id}: data: (2, 3)\n"
        "Rows of a matrix\n"
        "family:reduce, train phase, float64\n\n"
        "    import mxnet\n\n    mxnet.nd.sum()\n\n"
        f"Case 2 of 2, {cases[1].id}: data: (7,)\n"
        "family:reduce, train phase, float64\n\n"
        "    second()\n"
    )
    with pytest.raises(ValueError, match="shorter"):
        report_of(SUM, cases, ("only one",))


def cases(*shapes):
    return [
        Case(OperatorTarget("mxnet", "sum"), {"data": TensorSpec(shape)}, why="A why")
        for shape in shapes
    ]


SCRIPTS = ("import a\nimport b\n\nx = 1\n", "import a\nimport c\n\nx = 2\n")


def test_a_preamble_is_what_all_scripts_begin_with():
    assert split_preamble(SCRIPTS) == (["import a"], ["import b\n\nx = 1\n", "import c\n\nx = 2\n"])
    assert split_preamble(SCRIPTS[:1]) == ([], [SCRIPTS[0]])
    none = "# cannot be made here: why\n"
    assert split_preamble((*SCRIPTS, none)) == (["import a"], [*split_preamble(SCRIPTS)[1], none])
    assert split_preamble((SCRIPTS[0], "x\n\ny\n")) == ([], [SCRIPTS[0], "x\n\ny\n"])
    same = split_preamble((SCRIPTS[0], SCRIPTS[0]))
    assert same == (["import a", "import b"], ["x = 1\n"] * 2)


def test_a_preamble_is_printed_once():
    report = report_of(SUM, cases((2,), (3,)), SCRIPTS)
    for text, begin in ((told(report), "    "), (told(report, "md"), "```\n")):
        assert f"Every script begins with:\n\n{begin}import a" in text
        assert text.count("import a") == 1
        assert text.count("A why") == 2
        assert text.index("import a") < text.index("Case 1 of 2") < text.index("x = 1")


def test_details_fit_a_terminal_and_scripts_are_whole():
    long = f"x = '{'y' * 100}'"
    text = told(report_of(SUM, cases((2,) * 40), (long,)), width=60)
    assert f"    {long}" in text
    assert max(len(line) for line in text.splitlines() if long not in line) <= 60
    assert "…" not in text


def test_cases_as_csv():
    (row,) = csv.DictReader(io.StringIO(told(report_of(SUM, cases((2, 3)), SCRIPTS[:1]), "csv")))
    assert json.loads(row["inputs"]) == {"data": [2, 3]} and row["details"] == ""
    assert (row["operator"], row["why"], row["script"]) == ("sum", "A why", SCRIPTS[0])
