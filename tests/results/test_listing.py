"""A registry as text."""

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
from opperf.results.listing import list_text, operator_text, parameter_text

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
)
PLACEHOLDER = ListedOperator(
    operator=Operator(
        framework="mxnet", namespace="internal", name="placeholder", category="graph"
    ),
    reason="does nothing",
)


@pytest.mark.parametrize(
    ("parameter", "text"), [(DATA, "data"), (AXIS, "axis=-1"), (BIAS, "bias"), (MODE, "mode=mean")]
)
def test_parameters_as_in_a_signature(parameter, text):
    assert parameter_text(parameter) == text


def test_a_default_of_what_is_required_is_not_shown():
    odd = Parameter(name="data", kind=Kind.TENSOR, required=True, default="none")
    assert parameter_text(odd) == "data"


def test_the_list_has_a_line_for_each_operator():
    titles, first, second, blank, closing = list_text([SUM, PLACEHOLDER]).splitlines()
    assert titles.split() == ["Operator", "Namespace", "Category", "Rule", "Parameters", "Aliases"]
    assert first.split() == [
        *("sum", "nd", "reduction", "family:reduce"),
        *("data,", "axis=-1,", "mode=mean,", "bias", "sum_axis,", "_np_sum"),
    ]
    assert second.split() == ["placeholder", "internal", "graph", "none"]
    assert (blank, closing) == ("", "2 operators, 1 without a rule")


def test_the_list_says_nothing_of_rules_where_none_is_missing():
    assert list_text([SUM]).endswith("\n\n1 operator")


def test_names_that_look_like_numbers_stay_as_they_are():
    exponent = ListedOperator(
        operator=Operator(framework="mxnet", namespace="nd", name="1e5"), rule="x"
    )
    assert list_text([exponent]).splitlines()[1].startswith("1e5 ")


def test_a_line_of_the_list_fits_the_terminal():
    lines = list_text([SUM, PLACEHOLDER], 50).splitlines()
    assert max(map(len, lines)) == 50 and lines[1].endswith("…")


def fact(text, label):
    """What is told in the line of this label."""
    (line,) = [line for line in text.splitlines() if line.split()[:1] == [label]]
    return line.removeprefix(label).strip()


def test_all_facts_of_an_operator_are_told():
    text = operator_text(SUM, (), ())
    assert fact(text, "operator") == "sum" and fact(text, "framework") == "mxnet"
    assert fact(text, "namespaces") == "nd, np" and fact(text, "category") == "reduction"
    assert fact(text, "aliases") == "sum_axis, _np_sum" and fact(text, "rule") == "family:reduce"
    assert fact(text, "data").split() == ["tensor", "required"]
    assert fact(text, "axis").split() == ["int", "optional", "-1"]
    assert fact(text, "mode").split() == ["enum", "optional", "mean", "mean,", "max"]
    assert fact(text, "bias").split() == ["tensor", "optional"]


def test_what_an_operator_does_not_have():
    text = operator_text(PLACEHOLDER, (), ())
    assert fact(text, "namespaces") == "internal" and fact(text, "aliases") == "none"
    assert fact(text, "rule") == "none: does nothing"
    assert "Parameter" not in text and "Case" not in text


def test_every_case_has_its_script():
    cases = [
        Case(
            OperatorTarget("mxnet", "sum"),
            {"data": TensorSpec(shape)},
            settings=Settings(dtype="float64", phase="train"),
            origin="family:reduce",
            why=why,
        )
        for shape, why in (((2, 3), "Rows of a matrix"), ((7,), ""))
    ]
    text = operator_text(SUM, cases, ("import mxnet\n\nmxnet.nd.sum()\n", "second()"))
    assert text.endswith(
        f"\n\nCase 1 of 2, {cases[0].id}: data: (2, 3)\n"
        "Rows of a matrix\n"
        "family:reduce, train phase, float64\n\n"
        "    import mxnet\n\n    mxnet.nd.sum()\n\n"
        f"Case 2 of 2, {cases[1].id}: data: (7,)\n"
        "family:reduce, train phase, float64\n\n"
        "    second()"
    )
    with pytest.raises(ValueError, match="shorter"):
        operator_text(SUM, cases, ("only one",))
