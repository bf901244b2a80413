"""Where cases are made: each has a place, and the place is that of its row."""

from pathlib import Path

import pytest

import opperf
from opperf.frameworks import is_available, load
from opperf.instruments.profilers import find_profilers
from opperf.model import Settings
from opperf.rules.configurations import ROW
from opperf.rules.registering import each_of
from opperf.sources.registry import plan, rule_uses
from opperf.sources.selecting import Selection

HERE = Path(__file__).read_text(encoding="utf-8").splitlines()


def line_of(marker):
    """The place of the line of this file that ends with a comment."""
    (number,) = (n for n, line in enumerate(HERE, 1) if line.endswith(f"  # {marker}"))
    return f"{__file__}:{number}"


def helper():
    yield {"x": 1}  # in a helper


def generated():
    yield {"x": 0}  # first
    yield from helper()
    for x in range(2, 4):
        yield {"x": x}  # of a loop


def returned():  # returns
    return [{"x": 0}, {"x": 1, ROW: "rows.json:7"}]


def rows_of(family):
    return [one[ROW] for one in each_of(family, family, "operator x")]


def test_the_row_of_a_generator_is_its_innermost_yield():
    loop = line_of("of a loop")
    assert rows_of(generated) == [line_of("first"), line_of("in a helper"), loop, loop]


def test_the_rows_of_a_list_are_its_family_unless_it_says_their_place():
    assert rows_of(returned) == [line_of("returns"), "rows.json:7"]


def planned(name, *patterns):
    """The plan of operators of a framework, whose cases say what made them."""
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    return plan(framework, Selection(patterns=patterns, settings=settings, rules=True))


def text_at(place, lines=1):
    """The lines of a file from a place on."""
    listed = Path(place.file).read_text(encoding="utf-8").splitlines()
    return "\n".join(listed[place.line - 1 :][:lines])


def layers(name, operator):
    """The places of an operator by layer."""
    found = {}
    for use in rule_uses(planned(name, operator)):
        found.setdefault(use.place.layer, []).append(use.place)
    return found


def test_a_shared_family_is_named_with_its_binding_and_the_rows_of_a_table():
    found = layers("numpy", "rint")
    assert {"shared family", "binding", "row"} <= found.keys()
    (family,), (binding,) = found["shared family"], found["binding"]
    assert "families" in family.file and f"def {family.text}(" in text_at(family, 9)
    assert binding.file.endswith("numpy/elementwise.py") and "rint" in text_at(binding, 9)
    (long,) = (row for row in found["row"] if row.text.startswith("a large matrix"))
    (short,) = (row for row in found["row"] if row.text.startswith("a column"))
    assert long.text in text_at(long)
    # Its line of why is a constant of another module.
    assert text_at(short).lstrip().startswith("yield")


def test_an_entry_is_that_of_the_operator_and_not_a_value_of_another():
    (entry,) = layers("numpy", "ldexp")["entry"]
    assert '"ldexp"' in text_at(entry)


def test_what_excludes_an_operator_has_a_place_and_no_case():
    made = planned("numpy", "fromfunction", "rint")
    (use,) = (use for use in rule_uses(made) if use.operator == "fromfunction")
    assert use.place.text == "NOT_BENCHMARKED" and use.cases == ()
    assert '"fromfunction"' in text_at(use.place)


def test_arguments_by_name_have_the_entry_of_each():
    (place,) = layers("numpy", "numpy.ma.masked_invalid")["argument"]
    assert place.text == "a"
    assert '"a"' in text_at(place)


def test_places_are_no_part_of_cases_that_were_not_asked_for_them():
    framework = load("numpy")
    asked = planned("numpy", "add").cases
    selection = Selection(patterns=("add",), settings=asked[0].settings)
    plain = plan(framework, selection).cases
    assert [case.id for case in plain] == [case.id for case in asked]
    assert not any(case.rules for case in plain)


@pytest.mark.skipif(not is_available("torch"), reason="torch is not installed")
def test_recorded_inputs_and_derivations_have_their_own():
    recorded = layers("torch", "max.dim")["recorded inputs"]
    assert recorded
    for place in recorded:
        assert Path(place.file).suffix == ".json"
        assert text_at(place).startswith('{"count"')
    found = layers("torch", "gelu.default")
    assert {place.text for place in found["derivation"]} >= {"in bfloat16"}
    assert all("FAMILIES.derive(" in text_at(place) for place in found["derivation"])


def test_a_program_gets_the_places_of_an_operator():
    uses = opperf.rule_places("rint", framework="numpy", size="small")
    assert {use.operator for use in uses} == {"rint"}
    (family,) = (use for use in uses if use.place.layer == "shared family")
    rows = {id for use in uses if use.place.layer == "row" for id in use.cases}
    assert rows == set(family.cases) and len(rows) > 1


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["mxnet", "torch", "jax", "numpy"])
def test_every_case_has_a_place(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    made = planned(name)
    assert len(made.cases) > 1000
    made_by = {"row", "recorded inputs", "argument", "search", "caller"}
    lacking = [
        f"{case.label} {case.id}"
        for case in made.cases
        if made_by.isdisjoint(place.layer for place in case.rules)
    ]
    assert not lacking
    for file in {place.file for case in made.cases for place in case.rules}:
        assert Path(file).is_file()
