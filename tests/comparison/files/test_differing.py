"""What differs between two runs beside the operators."""

import json

import msgspec
import pytest

from opperf.comparison.files.joining import Pair, contents_caveat, differences
from opperf.comparison.files.reading import entry_of
from tests.writing import compared


def test_what_differs_is_told_the_weightiest_first(run, record, asked):
    base = run(record(runs=20), load_1min=0.1)
    new = run(
        record(runs=50),
        versions={"mxnet": "2.0.0", "numpy": "1.26"},
        threads={},
        governor="powersave",
        load_1min=0.2,
        opperf="0.2.0",
    )
    assert list(asked(base, new).differences) == [
        ("versions.mxnet", "1.9.1", "2.0.0"),
        ("versions.numpy", "absent", "1.26"),
        ("threads.OMP_NUM_THREADS", "2", "absent"),
        ("settings.runs", 20, 50),
        ("governor", "performance", "powersave"),
        ("opperf", "0.1.0", "0.2.0"),
    ]
    busy = asked(base, run(record(runs=20), load_1min=3.0))
    assert [one.name for one in busy.differences] == ["load_1min"]


def test_other_keys_of_comparability_are_told_with_their_facts(run, record, asked):
    found = asked(run(record()), run(record(), governor="powersave", threads={}, opperf="0.2.0"))
    assert found.incomparable == ("threads", "governor") and found.comparable is False
    text = compared(found, "text")
    assert "Not comparable by threads, governor: changes may be due to that alone.\n" in text
    told = json.loads(compared(found, "json"))
    assert (told["comparable"], told["incomparable"]) == (False, ["threads", "governor"])
    same = asked(run(record()), run(record(), opperf="0.2.0"))
    assert (same.incomparable, same.comparable) == ((), True)
    assert "Not comparable" not in compared(same, "text")


def test_two_moments_of_a_busy_machine_are_no_difference(run, record, asked):
    one, other, quiet = (
        run(record(), health={"cpu_pressure": told, "smt": smt})
        for told, smt in (
            ("3% of the last 10 s", "on"),
            ("4% of the last 10 s", "off"),
            ("ok", "on"),
        )
    )
    assert [d.name for d in asked(one, other).differences] == ["health.smt"]
    assert [d.name for d in asked(one, quiet).differences] == ["health.cpu_pressure"]


@pytest.fixture
def told(measured, entry):
    """What differs between files of these environments, and of cases with these settings."""

    def told(base, new, *settings):
        pairs = [Pair(entry(settings=a), entry(settings=b)) for a, b in settings]
        pairs += [Pair(entry(settings={"x": 1}), None), Pair(None, entry(settings={"x": 2}))]
        found = differences(measured(**base), measured(**new), pairs)
        return list(found)

    return told


@pytest.mark.parametrize(
    ("before", "after", "told_of"),
    [(0.5, 1.0, True), (1.0, 0.5, True), (0.5, 0.99, False), (3.0, 3.25, False), (0.0, 3.0, True)],
)
def test_the_load_differs_by_half_a_core_or_not_at_all(told, before, after, told_of):
    found = told({"load_1min": before}, {"load_1min": after})
    assert found == ([("load_1min", before, after)] if told_of else [])


def test_where_one_file_tells_no_environment_none_differs(told):
    assert told({}, {"cores": 4}) == told({"cores": 4}, {}) == []
    assert told({"cores": 2}, {"cores": 4}) == [("cores", 2, 4)]


def test_settings_of_cases_in_common_are_compared(told):
    found = told(
        {},
        {},
        ({"runs": 20, "dtype": "float32", "seed": 0, "old": 1}, {"runs": 50, "dtype": "float32"}),
        ({"runs": 30, "dtype": "float32", "seed": 0}, {"runs": 50, "dtype": "float32", "seed": 1}),
    )
    assert found == [("settings.runs", (20, 30), 50), ("settings.seed", 0, 1)]


def test_environment_variables_of_cases_are_compared(told):
    pairs = [({"env": {}}, {"env": {"A": "1"}}), ({"env": {}}, {"env": {"A": "2"}})]
    assert told({}, {}, *pairs) == [("settings.env", {}, ({"A": "1"}, {"A": "2"}))]


def test_only_values_of_cases_that_tell_a_setting_count(told):
    assert told({}, {}, ({"seed": 0}, {"seed": 1}), ({"seed": 5}, {}), ({}, {"seed": 7})) == [
        ("settings.seed", 0, 1)
    ]


def test_health_that_lasts_differs_and_health_of_the_moment_where_one_was_quiet(told):
    def health(**told):
        return {"health": told}

    smt = told(health(smt="on"), health(smt="off"))
    assert smt == [("health.smt", "on", "off")]
    assert told(health(cpu_pressure="3%"), health(cpu_pressure="4%")) == []
    assert told(health(cpu_pressure="ok"), health(cpu_pressure="4%")) == [
        ("health.cpu_pressure", "ok", "4%")
    ]
    # A name that is of the moment in the health, and somewhere else is not.
    assert told({"threads": {"cpu_pressure": "1"}}, {"threads": {"cpu_pressure": "2"}}) == [
        ("threads.cpu_pressure", "1", "2")
    ]


@pytest.fixture
def seeded(record):
    """Makes a record of a category, with inputs drawn from a seed."""

    def make(category, seed):
        one = record()
        settings = msgspec.structs.replace(one.case.settings, seed=seed)
        case = msgspec.structs.replace(one.case, category=category, settings=settings)
        return msgspec.structs.replace(one, case=case)

    return make


def test_a_time_that_depends_on_values_has_a_caveat_and_a_remark(run, seeded, asked):
    found = asked(run(seeded("sorting", 1)), run(seeded("sorting", 2)))
    caveats = {row.metric: "seeds 1 and 2" in row.caveat for row in found.rows}
    assert caveats["forward"] and not caveats["memory"]
    assert found.notes[-1] == (
        "The runs have different seeds, and the times of 1 operator depend on the inputs' values, "
        "e.g. relu."
    )


@pytest.mark.parametrize(("category", "seed"), [("unary", 2), ("sorting", 1)])
def test_other_times_and_the_same_seed_have_none(run, seeded, asked, category, seed):
    found = asked(run(seeded(category, 1)), run(seeded(category, seed)))
    assert not any("seeds" in text for text in (*found.notes, *(row.caveat for row in found.rows)))


def test_a_file_without_seeds_has_none(record):
    entry = msgspec.structs.replace(entry_of(record()), category="sorting", effort={})
    assert contents_caveat(entry, entry) == ""
