"""Caches and names of processors, on machines made of files."""

import itertools

import pytest

from opperf.machine import topology as module
from opperf.machine.kernel import CPU_FOLDER
from opperf.machine.topology import Cache, caches, cpu_model, last_level_bytes, physical_cores


def add_cache(folder, index, level, size, kind="Unified"):
    entry = folder / f"index{index}"
    entry.mkdir()
    for name, text in (("level", level), ("type", kind), ("size", size)):
        if text is not None:
            (entry / name).write_text(f"{text}\n")


def test_caches_are_named_by_level_and_kind(tmp_path):
    add_cache(tmp_path, 0, 1, "48K", "Data")
    add_cache(tmp_path, 1, 1, "32K", "Instruction")
    add_cache(tmp_path, 2, 3, "32768K")
    add_cache(tmp_path, 9, None, None)
    found = list(caches(tmp_path))
    assert found == [Cache(1, "L1d", "48K"), Cache(1, "L1i", "32K"), Cache(3, "L3", "32768K")]
    assert list(caches(tmp_path / "nowhere")) == []


def test_the_last_level_is_the_highest_that_says_its_size(tmp_path):
    assert last_level_bytes(tmp_path) is None
    add_cache(tmp_path, 0, 1, "48K")
    add_cache(tmp_path, 1, 2, "2M")
    assert last_level_bytes(tmp_path) == 2 * 2**20
    add_cache(tmp_path, 2, 3, "32768K")
    add_cache(tmp_path, 3, 4, None)
    assert last_level_bytes(tmp_path) == 32 * 2**20
    add_cache(tmp_path, 4, 5, "1G")
    assert last_level_bytes(tmp_path) == 2**30


@pytest.mark.parametrize("size", ["32768", "", "K", "3X", "many K"])
def test_a_cache_that_does_not_say_how_large_it_is_is_passed_over(tmp_path, size):
    add_cache(tmp_path, 0, 2, "512K")
    add_cache(tmp_path, 1, 3, size)
    assert last_level_bytes(tmp_path) == 512 * 2**10


@pytest.mark.parametrize(
    "content, model",
    [
        ("processor: 0\nmodel name\t: A CPU: fast\nmodel name\t: B\n", "A CPU: fast"),
        ("processor: 0\nthe model name: A\n", "by Python"),
        ("", "by Python"),
    ],
)
def test_the_processors_name_is_the_kernels(tmp_path, monkeypatch, content, model):
    (tmp_path / "cpuinfo").write_text(content)
    monkeypatch.setattr(module.platform, "processor", lambda: "by Python")
    assert cpu_model(tmp_path) == model


def test_without_the_kernels_the_name_is_pythons(tmp_path, monkeypatch):
    monkeypatch.setattr(module.platform, "machine", lambda: "m64")
    for known, name in (("by Python", "by Python"), ("", "m64")):
        monkeypatch.setattr(module.platform, "processor", lambda known=known: known)
        assert cpu_model(tmp_path) == name


def test_a_physical_core_counts_once_by_what_is_usable_of_it(tmp_path):
    for cpu, together in enumerate(("0,2", "1,3", "0,2", "1,3")):
        folder = tmp_path / CPU_FOLDER / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(together)
    assert physical_cores(frozenset(range(4)), tmp_path) == {0, 1}
    assert physical_cores(frozenset({2, 3}), tmp_path) == {2, 3}
    assert physical_cores(frozenset({0, 2}), tmp_path) == {0}
    assert physical_cores(frozenset({8, 9}), tmp_path) == {8, 9}


def test_the_fastest_copy_counts_in_proportion_to_the_bytes(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 1000)
    # A clock whose first interval is long, as if something had disturbed it.
    times = itertools.chain([0, 900], itertools.count(1000, 10))
    monkeypatch.setattr(module.time, "perf_counter_ns", lambda: next(times))
    monkeypatch.setattr(module.time, "perf_counter", lambda: 0.0)
    assert module.copy_ns(1000) == 10.0
    times = itertools.count(0, 10)
    # Of more bytes than are copied, by their number.
    assert module.copy_ns(4000) == 40.0
    times = itertools.count(0, 10)
    assert module.copy_ns(1) > 0
