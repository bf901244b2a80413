"""A registry as text."""

import msgspec
import pytest

from opperf.model import Kind, ListedOperator, Operator, Parameter
from opperf.reports.listing import FIELDS, categories_report, operators_report, parameter_text
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


@pytest.mark.parametrize(
    ("parameter", "text"), [(DATA, "data"), (AXIS, "axis=-1"), (BIAS, "bias"), (MODE, "mode=mean")]
)
def test_parameters_as_in_a_signature(parameter, text):
    assert parameter_text(parameter) == text


def test_a_default_of_what_is_required_is_not_shown():
    odd = Parameter(name="data", kind=Kind.TENSOR, required=True, default="none")
    assert parameter_text(odd) == "data"


def test_the_list_has_a_line_for_each_operator():
    titles, dashes, first, second, blank, closing = told(
        operators_report([SUM, PLACEHOLDER])
    ).splitlines()
    assert titles.split() == [field.title for field in FIELDS] and set(dashes) == {"-", " "}
    assert first.split() == [
        *("sum", "12", "reduction", "data,", "axis=-1,", "mode=mean,", "bias"),
        *("family:reduce", "sum_axis,", "_np_sum", "nd"),
    ]
    assert second.split() == ["placeholder", "0", "graph", "none", "internal"]
    assert (blank, closing) == ("", "2 operators, 12 cases, 1 without a rule")


def test_the_list_says_nothing_of_rules_where_none_is_missing():
    assert told(operators_report([SUM])).endswith("\n\n1 operator, 12 cases\n")


def test_the_cases_of_a_single_operator_say_what_they_stand_for():
    whys = ("each row, as a loss", "each column of a table of many features, as its mean")
    alone = msgspec.structs.replace(SUM, whys=whys)
    text = told(operators_report([alone]))
    assert text.endswith(f"1 operator, 12 cases:\n  {whys[0]}\n  {whys[1]}\n")
    assert max(map(len, told(operators_report([alone]), width=30).splitlines())) <= 30
    assert whys[0] not in told(operators_report([alone, PLACEHOLDER]))


def test_what_has_to_be_searched_for_has_no_number():
    searched = ListedOperator(operator=SUM.operator, rule="search", cases=None)
    text = told(operators_report([searched, SUM]))
    assert text.splitlines()[2].split()[:2] == ["sum", "reduction"]
    assert text.endswith("2 operators, 12 cases, 1 with inputs to search for\n")


def test_names_that_look_like_numbers_stay_as_they_are():
    exponent = ListedOperator(
        operator=Operator(framework="mxnet", namespace="nd", name="1e5"), rule="x"
    )
    assert told(operators_report([exponent])).splitlines()[2].startswith("1e5 ")


def squeezed(lines):
    return "".join(lines).replace(" ", "")


@pytest.mark.parametrize(
    ("width", "shown"), [(30, 3), (55, 4), (70, 5), (90, 6), (100, 7), (200, 7)]
)
def test_in_a_terminal_texts_wrap_and_the_last_columns_go(width, shown):
    text = told(operators_report([SUM, PLACEHOLDER]), width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width and "…" not in text
    titles = [field.title for field in FIELDS]
    assert lines[0].split() == titles[:shown]
    assert ("--formatjson" in squeezed(lines)) == (shown < len(titles))
    for title in titles[shown:]:
        assert title.lower() in text.partition("No room for")[2], title
    if shown > 3:
        assert all(word in squeezed(lines) for word in ("data,axis=-1", "bias"))


def test_categories_have_their_numbers():
    text = told(categories_report([SUM, PLACEHOLDER, SUM]))
    titles, _, graph, reduction, _, closing = text.splitlines()
    assert titles.split() == ["Category", "Operators", "Cases"]
    assert graph.split() == ["graph", "1", "0"] and reduction.split() == ["reduction", "2", "24"]
    assert closing == "2 categories, 3 operators, 24 cases, 1 without a rule"
    assert told(categories_report([SUM])).splitlines()[-1].startswith("1 category, ")
    assert categories_report([SUM]).data == [{"category": "reduction", "operators": 1, "cases": 12}]


def test_tables_as_csv_and_markdown():
    titles, first, second = told(operators_report([SUM, PLACEHOLDER]), "csv").splitlines()
    assert titles == ",".join(field.title.lower() for field in FIELDS)
    assert first == (
        'sum,12,reduction,"data, axis=-1, mode=mean, bias",family:reduce,"sum_axis, _np_sum",nd'
    )
    assert second == "placeholder,0,graph,,none,,internal"
    assert told(categories_report([SUM]), "csv") == "category,operators,cases\nreduction,1,12\n"
    page = told(categories_report([SUM]), "md").splitlines()
    assert page[0].replace(" ", "") == "|Category|Operators|Cases|"
    assert page[2].replace(" ", "") == "|reduction|1|12|"
