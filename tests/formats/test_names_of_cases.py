"""Every exporter, of a run and of a history, names a case alike: what one began in a dashboard, the
other continues."""

import json

import msgspec
import pytest

from opperf.formats.forms import FORMS, WRITTEN
from opperf.history.added_files import read_submission
from opperf.history.exporting import collect
from opperf.history.model import CommitsOf
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.model import OperatorTarget, Settings
from opperf.reports.formats import RUN, built_in_names, format_named
from opperf.reports.writing import write
from opperf.repository import Checkout, Commit
from opperf.results.figures import case_name, distinct_names
from tests.results.conftest import record

NAMELESS = {"json", "md", "csv", "jsonl", "param", "xla", "milabench", "html"}
"""Formats of runs whose cases have no name: they have columns, ids, or the names of models."""


def of_pytest(content):
    for benchmark in content["benchmarks"]:
        group = benchmark["group"]
        yield group.rpartition(".")[0] + benchmark["name"].removeprefix(group)


def before_metric(texts):
    return [text.rpartition(" ")[0] for text in texts]


READERS = {
    "pytest-benchmark": of_pytest,
    "bencher": list,
    "hyperfine": lambda content: [
        one["command"].replace(".forward[", "[", 1) for one in content["results"]
    ],
    "perfetto": lambda content: [
        one["name"] for one in content["traceEvents"] if one.get("cat") == "opperf case"
    ],
    "github-action-benchmark": lambda listed: before_metric(one["name"] for one in listed),
    "instruction-counts": lambda content: before_metric(content["values"]),
    "pytorch": lambda listed: [
        f"{one['model']['name']}[{one['benchmark']['extra_info']['inputs']}]" for one in listed
    ],
    "operator-benchmark": lambda listed: [
        f"{one['test_name']}[{one['input_config']}]" for one in listed
    ],
    "asv": lambda benchmarks: [
        f"{name.rpartition('.')[0]}[{inputs}]"
        for name, one in benchmarks.items()
        if name != "version"
        for inputs in one["params"][0]
    ],
}
"""Return the names of cases in a file, as one text each."""


def changed(made, **fields):
    case = msgspec.structs.replace(made.case, **fields)
    samples = {"forward": [1.9e6, 2e6, 2.1e6]}
    return msgspec.structs.replace(made, case=case, id=case.id, samples=samples)


@pytest.fixture
def named_run(run):
    """Cases of every kind of name: with settings, of the same name, and of a long one."""
    records = (
        changed(record()),
        changed(record(), settings=Settings(dtype="float16", threads=2)),
        changed(record("abs", text="x" * 2000)),
        *(
            changed(record(), target=OperatorTarget("torch", "relu", namespace=namespace))
            for namespace in ("a", "b")
        ),
    )
    return msgspec.structs.replace(run, records=records)


@pytest.fixture
def expected(named_run):
    names = distinct_names({one.id: case_name(one.case) for one in named_run.records})
    assert len(set(names.values())) == len(named_run.records)
    return set(map(str, names.values()))


@pytest.mark.parametrize("name", sorted(set(built_in_names(RUN)) - NAMELESS))
def test_formats_of_a_run(named_run, expected, name):
    text, _ = format_named(name, RUN).write_run(named_run)
    assert set(READERS[name](json.loads(text))) == expected


@pytest.fixture
def store(named_run, tmp_path):
    path = tmp_path / "run.jsonl"
    write(named_run, path, "jsonl")
    commit = Commit("1" * 40, "", 1, 0.0, "someone", "first")
    submission, _ = read_submission(path, Checkout(commit, "main", False), CommitsOf.CODE, True)
    with Store(str(tmp_path / "history.sqlite")) as opened:
        add_runs(opened, "p", [submission])
        yield opened


@pytest.mark.parametrize("form", WRITTEN)
def test_forms_of_a_history(store, expected, form):
    content, _ = FORMS[form].write(collect(store, find_project(store)))
    if form == "asv":
        content = json.loads(content["benchmarks.json"])
    if form == "github-action-benchmark":
        (groups,) = json.loads(content.partition("= ")[2])["entries"].values()
        content = groups[0]["benches"]
    assert set(READERS[form](content)) == expected
