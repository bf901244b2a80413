"""Sizes of batches: by options, by a table and the memory of GPUs, and tables that are none."""

import pytest

from opperf.suites.sizing import read_bytes

LINE = "resnet: {model: {1: 1100 MiB, 8: 1.8 GB, 64: 7400000000, 128: 13.8Go}, optimized: 32}\n"
"""0.1 GB an item above 1 GB, but for the first."""

SUITE = "b: {definition: x, argv: {--batch-size: auto_batch(50)}}\n"

RESNET = SUITE.replace("b:", "resnet:", 1)


@pytest.fixture
def sized(suite):
    """Returns the size of the batch of `resnet` under options of the system."""

    def made(table=None, text=RESNET, **options):
        files = {} if table is None else {"sizes.yaml": table}
        if table is not None:
            options.setdefault("sizer.config", "sizes.yaml")
        overrides = tuple(f"system.{path}={value}" for path, value in options.items())
        found = suite(text, files, overrides=overrides)
        (bench,) = found.benches
        assert bench.argv == ("--batch-size", str(bench.sizes["batch_size"]))
        return bench.sizes["batch_size"], found.notes

    return made


@pytest.mark.parametrize(
    ("written", "expected"),
    [("80GB", 80e9), ("4Go", 4e9), ("1.5 GiB", 1.5 * 2**30), ("81920 MiB", 80 * 2**30), ("12", 12)],
)
def test_amounts_of_memory(written, expected):
    assert read_bytes(written) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 50),
        ({"sizer.batch_size": 7}, 7),
        ({"sizer.auto": 1, "sizer.mult": 0.5}, 25),
        ({"sizer.auto": 1, "sizer.mult": 2, "sizer.add": -3, "sizer.multiple": 8}, 96),
        ({"sizer.auto": 1, "sizer.add": -80}, 1),
    ],
)
def test_sizes_by_options(sized, options, expected):
    assert sized(**options) == (expected, ())


def test_sizes_fill_the_memory_of_the_gpu(sized):
    table = LINE.replace("1: 1100 MiB", "1: 1.1GB")
    # 80 GiB of the machine: (85.9 - 1) / 0.1 is 849.
    assert sized(table, **{"sizer.auto": 1}) == (848, ())
    assert sized(table, **{"sizer.auto": 1, "sizer.capacity": "All"})[0] == 848
    assert sized(table, **{"sizer.auto": 1, "sizer.capacity": "6.1GB"})[0] == 48
    assert (
        sized(table, **{"sizer.auto": 1, "sizer.capacity": "6.06GB", "sizer.multiple": 1})[0] == 51
    )
    assert sized(table, **{"sizer.auto": 1, "sizer.capacity": "6.1GB", "sizer.power": 2})[0] == 32
    assert sized(table, **{"sizer.auto": 1, "sizer.capacity": "0.5GB"})[0] == 1
    assert sized(table, **{"sizer.optimized": 1})[0] == 32


def test_the_fastest_size_that_fits_is_optimized(sized):
    table = """version: 2
resnet:
  observations:
  - {batch_size: 16, cpu: 8, memory: 2 GB, perf: 90, time: 1}
  - {batch_size: 64, cpu: 8, memory: 4 GB, perf: 100, time: 1}
  - {batch_size: 128, cpu: 8, memory: 8 GB, perf: 120, time: 1}
"""
    assert sized(table, **{"sizer.optimized": 1, "sizer.capacity": "6GB"})[0] == 64
    assert sized(table, **{"sizer.optimized": 1})[0] == 128
    assert sized(table, **{"sizer.auto": 1, "sizer.capacity": "10GB"})[0] == 160


@pytest.mark.parametrize(
    "table", [LINE.replace("resnet", "other"), "resnet: {model: {8: 1GB}}\n", "resnet: {}\n"]
)
def test_a_bench_that_the_table_does_not_size_has_its_own_size(sized, table):
    size, notes = sized(table, **{"sizer.auto": 1})
    assert size == 50 and "no sizes of them: resnet" in notes[0]


def test_the_first_run_that_writes_a_table_has_none(sized):
    options = {"sizer.auto": 1, "sizer.config": "new.yaml", "sizer.save": "new.yaml"}
    assert sized(**options)[0] == 50


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        ("resnet: {model: {8: much}}\n", {}, "sizes.yaml:1: resnet.model.8: 'much' is no amount"),
        ("resnet: {model: {eight: 1GB}}\n", {}, "this is 'eight'"),
        ("resnet: {observations: [{batch_size: 8}]}\n", {}, "an observation has no memory"),
        (LINE, {"sizer.capacity": "much"}, "sizer.capacity: 'much' is no amount of memory"),
        (None, {"sizer.config": "gone.yaml"}, "gone.yaml: it cannot be read"),
    ],
)
def test_bad_tables(refusal, table, options, expected):
    files = {} if table is None else {"sizes.yaml": table}
    given = {"sizer.auto": 1, "sizer.config": "sizes.yaml", **options}
    overrides = tuple(f"system.{path}={value}" for path, value in given.items())
    assert expected in refusal(RESNET, files=files, overrides=overrides)


def test_without_gpus_their_memory_is_not_known(refusal):
    overrides = ("system.sizer.auto=1", "system.sizer.config=sizes.yaml")
    from opperf.suites.system import Machine

    said = refusal(RESNET, files={"sizes.yaml": LINE}, overrides=overrides, machine=Machine(2, 0))
    assert "suite.yaml:1: resnet.argv.--batch-size" in said and "set sizer.capacity" in said
