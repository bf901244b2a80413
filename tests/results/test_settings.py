"""The settings in which the cases of a run differ."""

import msgspec

from opperf.model import Settings, identity_of
from opperf.reports.run_page import markdown_text
from opperf.reports.run_tables import run_text
from opperf.results.columns import csv_text
from opperf.results.opperf_json import results_by_operator
from opperf.results.settings import (
    changed_settings_text,
    differing_settings,
    needed_settings,
    option_words,
    settings_text,
)


def with_settings(record, **settings):
    case = msgspec.structs.replace(record.case, settings=Settings(**settings))
    return msgspec.structs.replace(record, case=case, id=case.id)


def test_what_varies_is_shown_and_what_does_not_is_not(make_record):
    one = with_settings(make_record(), dtype="float16", threads=2, runs=3)
    other = with_settings(make_record(), threads=2, env={"A": "1"}, runs=4)
    assert differing_settings([one.case, one.case]) == ()
    assert differing_settings([one.case, other.case]) == ("dtype", "env")
    elsewhere = with_settings(make_record("exp"), phase="train", runs=4)
    assert differing_settings([one.case, elsewhere.case]) == (), "they do not look alike"
    names = ("dtype", "threads", "env", "python")
    assert settings_text(one.case, names) == "float16, threads 2, env unset, python own"
    assert settings_text(other.case, names) == "float32, threads 2, env A=1, python own"

    assert changed_settings_text(identity_of(one.case.settings)) == "float16, threads 2"
    assert changed_settings_text(identity_of(Settings())) == ""


def test_a_command_names_the_settings_that_it_would_not_have_anyway():
    settings = {"device": "cpu(0)", "dtype": "float32", "threads": None, "env": {}, "seed": 3}
    assert needed_settings(settings, ()) == needed_settings(settings, ("cpu(0)",)) == {"seed": 3}
    assert needed_settings(settings, ("gpu(0)", "cpu(0)")) == {"device": "cpu(0)", "seed": 3}
    gpu = {"device": "gpu(0)", "env": {"A": "1", "B": "2"}, "memory": False}
    assert needed_settings(gpu, ("gpu(0)", "cpu(0)")) == {"env": gpu["env"], "memory": False}
    assert option_words(gpu) == [
        *("--ctx", "gpu(0)", "--env", "A=1", "--env", "B=2", "--no-memory")
    ]


def test_rows_that_would_look_alike_have_them_in_every_output(run, make_record):
    records = tuple(with_settings(make_record(), dtype=d) for d in ("float16", "float32"))
    both = msgspec.structs.replace(run, records=records)
    assert "float16" in run_text(records)
    assert "float16" not in run_text(records[:1])
    assert "| float16" in markdown_text(both)
    assert [one["settings"] for one in results_by_operator(records)["relu"]] == [
        {"dtype": "float16"},
        {"dtype": "float32"},
    ]
    assert "settings" not in results_by_operator(records[:1])["relu"][0]
    threaded = with_settings(make_record(), threads=2, env={"A": "1"})
    head, row = csv_text(msgspec.structs.replace(run, records=(threaded,))).splitlines()
    assert {"threads", "env", "python", "mode", "phase"} <= set(head.split(","))
    assert '"{""A"":""1""}"' in row
