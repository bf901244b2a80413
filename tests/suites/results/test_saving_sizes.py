"""Tables of sizes that runs write, which are then read for others."""

import pytest

from opperf.errors import OpperfError
from opperf.model import Status
from opperf.suites.results.run import load
from opperf.suites.results.saving_sizes import check_table, save_sizes
from opperf.suites.sizing import Observation, read_table
from tests.suites.results.making import (
    facts_of,
    folder_of,
    rates_around,
    record_of,
    script_case,
    stream_lines,
    suite,
)

GPUS = [({"0": {"memory": [used, 80000.0], "load": 0.5}}, used) for used in (1500.0, 2000.0)]


@pytest.fixture
def table(tmp_path):
    pytest.importorskip("yaml")
    return tmp_path / "sizes.yaml"


def sized(tmp_path, size, rate=10.0, gpus=GPUS, code=0):
    """A run of `net` with batches of a size."""
    config = {"sizes": {"batch_size": size, "cpu": 4}}
    lines = stream_lines([rate] * 40, name="net", config=config, gpus=gpus, code=code)
    return load([folder_of(tmp_path / f"runs{size}", net=lines)])


def test_sizes_of_several_runs_are_collected(tmp_path, table):
    table.write_text("net: {model: {4: 1200 MiB}}\nother: {optimized: 3}\n")
    assert save_sizes(table, sized(tmp_path, 16)) == f"1 size added to {table}"
    save_sizes(table, sized(tmp_path, 8, 20.0))
    again = save_sizes(table, sized(tmp_path, 8, 20.0))
    assert again.startswith("1 size")
    found = read_table(str(table))
    assert [(one.size, one.performance) for one in found["net"].observations] == [
        (4, 0.0),
        (8, 20.0),
        (16, 10.0),
    ]
    assert found["net"].observations[1] == Observation(8, 2000 * 2**20, 20.0)
    assert found["other"].optimized == 3


def test_what_failed_or_had_no_gpu_is_in_no_table(tmp_path, table):
    for size, run in ((1, sized(tmp_path, 1, gpus=())), (2, sized(tmp_path, 2, code=1))):
        said = save_sizes(table, run)
        assert "0 sizes added" in said and said.endswith(": net"), size
    assert read_table(str(table)) == {}


def test_benches_without_a_size_are_in_no_table(tmp_path, table):
    record = record_of(script_case(), rates_around(10), Status.OK)
    said = save_sizes(table, suite(tmp_path, [facts_of(record)], [record]))
    assert said == f"0 sizes added to {table}"


def test_a_table_that_cannot_be_written_is_said_before_the_run(tmp_path, table):
    table.write_text("net: {model: {4: much}}\n")
    with pytest.raises(OpperfError, match=r"sizes.yaml:1: net.model.4"):
        check_table(table)
    with pytest.raises(OpperfError, match="does not exist"):
        check_table(tmp_path / "gone" / "sizes.yaml")
