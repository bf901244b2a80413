"""The cores of workers, on machines made of files and on this one."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.machine import pinning as module
from opperf.machine.core_use import Held
from opperf.machine.kernel import parse_cpus, usable_cpus
from opperf.machine.pinning import (
    NOT_PINNED,
    Cpus,
    Pinning,
    Use,
    choose_cpus,
    cpus_arguments,
    manager_cpus,
    parse_list,
    thread_count,
)
from opperf.model import Settings
from opperf.worker.client import Worker

CPU = "devices/system/cpu"

USABLE = usable_cpus()


def can_pin():
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return False
    return True


needs_pinning = pytest.mark.skipif(not can_pin(), reason="processes cannot be pinned here")


@pytest.fixture
def sysfs(tmp_path):
    """Returns a function that writes files of sysfs and returns its root."""

    def write(files=()):
        for name, content in dict(files).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        return tmp_path

    return write


def threads_of_cores(*lists):
    """Files for physical cores with these hardware threads."""
    return {
        f"{CPU}/cpu{cpu}/topology/thread_siblings_list": ",".join(map(str, cpus))
        for cpus in lists
        for cpu in cpus
    }


FLAT = threads_of_cores(*([cpu] for cpu in range(4)))
SMT = threads_of_cores(*([cpu, cpu + 4] for cpu in range(4)))
TWO_NODES = SMT | {
    "devices/system/node/node0/cpulist": "0-1,4-5",
    "devices/system/node/node1/cpulist": "2-3,6-7",
}
PACKAGES = FLAT | {
    f"{CPU}/cpu{cpu}/topology/physical_package_id": int(cpu == 3) for cpu in range(4)
}
HYBRID = SMT | threads_of_cores([8], [9]) | {"devices/cpu_atom/cpus": "8-9"}
BIG_LITTLE = {f"{CPU}/cpu{cpu}/cpu_capacity": 1024 if cpu < 2 else 400 for cpu in range(4)}


@pytest.mark.parametrize(
    "files, usable, count, chosen",
    [
        (FLAT, range(4), 1, {3}),
        (FLAT, range(4), 3, {1, 2, 3}),
        (FLAT, range(4), 4, {0, 1, 2, 3}),
        (FLAT, [0, 2], 1, {2}),
        (FLAT, [0], 1, {0}),
        # One hardware thread of each physical core first.
        (SMT, range(8), 1, {3}),
        (SMT, range(8), 2, {2, 3}),
        (SMT, range(8), 5, {0, 1, 2, 3, 7}),
        (SMT, range(8), 8, set(range(8))),
        (SMT, [0, 4, 5, 7], 3, {0, 5, 7}),
        # The newer name of the file is the first that is read.
        (SMT | {f"{CPU}/cpu3/topology/core_cpus_list": "2-3"}, range(4), 1, {2}),
        # One memory node if it has enough physical cores.
        (TWO_NODES, range(8), 2, {2, 3}),
        (TWO_NODES, [0, 1, 2, 4, 5, 6], 2, {0, 1}),
        (TWO_NODES, range(8), 3, {1, 2, 3}),
        (PACKAGES, range(4), 1, {3}),
        (PACKAGES, range(4), 2, {1, 2}),
        # Performance cores before efficiency cores, but for second hardware threads.
        (HYBRID, range(10), 1, {3}),
        (HYBRID, range(10), 4, {0, 1, 2, 3}),
        (HYBRID, range(10), 6, {0, 1, 2, 3, 8, 9}),
        (HYBRID, range(10), 7, {0, 1, 2, 3, 7, 8, 9}),
        (BIG_LITTLE, range(4), 1, {1}),
        (BIG_LITTLE, range(4), 3, {0, 1, 3}),
        # Nothing is known.
        ({}, range(4), 2, {2, 3}),
        ({f"{CPU}/cpu3/topology/thread_siblings_list": "x"}, range(4), 1, {3}),
    ],
)
def test_cores_for_a_number_of_threads(sysfs, files, usable, count, chosen):
    assert choose_cpus(count, frozenset(usable), sysfs(files)) == chosen


def held(*cpus, process=7):
    return Held(process, frozenset(cpus))


@pytest.mark.parametrize(
    "files, usable, count, use, chosen",
    [
        # Another run's core, the least used one, and a core that something else keeps busy.
        (FLAT, range(4), 1, Use((held(3),)), {2}),
        (FLAT, range(2), 1, Use((held(0, 1), held(1))), {0}),
        (FLAT, range(2), 2, Use((held(1),)), {0, 1}),
        (FLAT, range(4), 2, Use((), {3: 0.9, 2: 0.1}), {1, 2}),
        (FLAT, range(2), 1, Use((), {0: 0.6, 1: 1.0}), {0}),
        (FLAT, range(2), 1, Use((held(0),), {1: 1.0}), {1}),
        # A second hardware thread of a core in use is worse than any core.
        (SMT, [0, 1, 4, 5], 1, Use((held(5),)), {0}),
        (SMT, [0, 1, 4, 5], 1, Use((held(1),), {0: 1.0}), {4}),
        # A node without enough cores that are free.
        (TWO_NODES, range(8), 2, Use((held(3),)), {0, 1}),
        (TWO_NODES, range(8), 2, Use((), {2: 0.8}), {0, 1}),
    ],
)
def test_cores_that_nothing_else_uses_come_first(sysfs, files, usable, count, use, chosen):
    assert choose_cpus(count, frozenset(usable), sysfs(files), use) == chosen


@pytest.mark.parametrize(
    "files, usable, pinned, others",
    [
        (FLAT, range(4), {3}, {0, 1, 2}),
        (FLAT, range(4), set(range(4)), set()),
        (SMT, range(8), {3}, {0, 1, 2, 4, 5, 6}),
        # A second hardware thread of a worker's core is better than the worker's own.
        (SMT, [3, 7], {3}, {7}),
        (SMT, range(8), {0, 1, 2, 3}, {4, 5, 6, 7}),
        ({}, [0], {0}, set()),
    ],
)
def test_cores_beside_a_worker(sysfs, files, usable, pinned, others):
    assert manager_cpus(frozenset(pinned), frozenset(usable), sysfs(files)) == others


@pytest.mark.parametrize(
    "text, found", [("2", {2}), ("0-3,8", {0, 1, 2, 3, 8}), (" 1 , 2-2 ", {1, 2}), ("3,3", {3})]
)
def test_a_list_of_cores(text, found):
    assert parse_list(text, frozenset({0, 1, 2, 3, 8})) == found


@pytest.mark.parametrize(
    "text, words",
    [
        ("7", "--cpus 7: this process may not use core 7; usable: 0-3,8"),
        ("2-9", "--cpus 2-9: this process may not use core 4; usable: 0-3,8"),
        ("0-99999999999999", "may not use core 4; usable"),
        *(
            (text, f"--cpus {text!r} is not auto, none or a list of cores such as 0-3,8; usable: ")
            for text in (
                "",
                ",",
                "1,,2",
                "3-1",
                "x",
                "-1",
                "1-",
                "1.5",
                "\N{ARABIC-INDIC DIGIT ONE}",
            )
        ),
    ],
)
def test_another_list_is_refused_with_the_usable_cores(text, words):
    with pytest.raises(UsageError) as caught:
        parse_list(text, frozenset({0, 1, 2, 3, 8}))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "settings, variables, count",
    [
        ({}, {}, None),
        ({"threads": 3}, {"OMP_NUM_THREADS": "1"}, 3),
        ({"threads": 3, "env": {"OMP_NUM_THREADS": "5"}}, {}, 3),
        ({"env": {"OMP_NUM_THREADS": "5"}}, {"OMP_NUM_THREADS": "1"}, 5),
        ({}, {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "2"}, 4),
        ({"env": {"OMP_NUM_THREADS": "1"}}, {"MKL_NUM_THREADS": "2"}, 2),
        ({}, {"OMP_NUM_THREADS": "2,4"}, 2),
        # Libraries ignore both.
        ({}, {"OMP_NUM_THREADS": "many"}, None),
        ({}, {"OMP_NUM_THREADS": "0"}, None),
        ({}, {"OTHER_NUM_THREADS": "1"}, None),
    ],
)
def test_threads_of_a_worker(settings, variables, count):
    assert thread_count(Settings(**settings), variables) == count


@pytest.fixture
def pinning(sysfs, monkeypatch):
    """Returns a function that makes the pinning of a machine of these files and cores."""

    def make(choice="auto", files=FLAT, usable=range(4)):
        monkeypatch.setattr(module, "usable_cpus", lambda: frozenset(usable))
        monkeypatch.setattr(module, "_find_obstacle", lambda: "")
        return Pinning(choice, sysfs(files))

    return make


def test_a_worker_has_a_core_for_each_thread_and_at_most_all(pinning):
    made = pinning()
    counts = [made.core_count(Settings(threads=n), {}) for n in (1, 4, 9, None)]
    assert counts == [1, 4, 4, 4]
    assert made.choose(1) == Cpus(frozenset({3}), frozenset(range(4)))
    # Explicitly, as a worker would inherit the cores of this process.
    assert made.choose(4).pinned == set(range(4))


def test_a_list_is_of_every_worker_and_none_pins_nothing(pinning):
    assert {pinning("1-2").choose(count).pinned for count in (1, 4)} == {frozenset({1, 2})}
    for word in ("none", "NONE"):
        assert pinning(word).choose(1) == NOT_PINNED


@pytest.mark.parametrize(
    "choice, usable, counts, line",
    [
        ("auto", range(4), [1], "workers on core 3, this process on cores 0-2"),
        ("Auto", range(2), [1], "workers on core 1, this process on core 0"),
        ("auto", range(2), [2], "workers on all 2 cores, shared with this process"),
        ("auto", [5], [1], "workers on core 5, shared with this process"),
        (
            "auto",
            range(4),
            [4, 1],
            "workers on core 3 or all 4 cores, this process on others where any are left",
        ),
        ("0,2", range(4), [1, 2], "workers on cores 0,2, this process on cores 1,3"),
        ("none", range(4), [1], ""),
        ("auto", range(4), [], ""),
    ],
)
def test_the_sentence_on_the_cores(pinning, choice, usable, counts, line):
    assert pinning(choice, usable=usable).describe(counts) == line


def test_two_runs_have_cores_of_their_own_and_a_third_says_so(pinning):
    first, second, third = (pinning(usable=range(2)) for _ in range(3))
    # A worker that plans with all cores claims none.
    for one in (first, second, third):
        one.choose(2)
    assert first.describe([1]) == "workers on core 1, this process on core 0"
    assert second.describe([1]) == "workers on core 0, this process on core 1"
    process = os.getpid()
    assert third.describe([1]) == (
        "workers on core 1, this process on core 0; core 1 is also used by 1 other run of opperf "
        f"(process {process}): times may be longer than alone"
    )
    for one in (first, third):
        one.__exit__()
    listed = pinning("0,1", usable=range(2))
    assert "; core 0 is also used by 1 other run" in listed.describe([1])
    second.__exit__()
    everything = pinning(usable=range(2))
    assert "; all 2 cores are also used by 1 other run" in everything.describe([2])
    listed.__exit__()
    last = pinning(usable=range(2))
    assert "; core 1 is also used by 1 other run" in last.describe([1])


def test_this_process_keeps_off_the_cores_of_other_runs(pinning):
    first, second = pinning(), pinning()
    first.choose(1)
    assert second.describe([1]) == "workers on core 2, this process on cores 0-1"


def test_workers_side_by_side_have_cores_that_are_free(pinning):
    first, second = pinning(), pinning()
    first.choose(2)
    lanes = second.split(2)
    assert [one.choose(1).pinned for one in lanes] == [{1}, {0}]
    assert pinning().choose(1).pinned == {3}


def test_where_processes_cannot_be_pinned_the_sentence_says_why(pinning, monkeypatch):
    monkeypatch.setattr(module, "usable_cpus", lambda: frozenset(range(4)))

    def refuse(thread, cpus):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0}, raising=False)
    for choice in ("auto", "2"):
        made = Pinning(choice)
        assert made.choose(1) == NOT_PINNED
        assert made.describe([1]) == (
            "workers are not pinned: this process may not set its cores (Operation not permitted)"
        )
    monkeypatch.delattr(os, "sched_setaffinity")
    assert Pinning().describe([1]) == "workers are not pinned: this system cannot pin processes"
    assert Pinning("none").describe([1]) == ""


@pytest.fixture
def affinities(monkeypatch):
    """The cores of this process's two threads, by number, as a dict that tests may read."""
    cores = {1: {0, 1, 2, 3}, 2: {0, 1}}
    monkeypatch.setattr(module, "_read_affinities", lambda: dict(cores))
    monkeypatch.setattr(
        os,
        "sched_setaffinity",
        lambda thread, cpus: cores.update({thread: set(cpus)}),
        raising=False,
    )
    return cores


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_this_process_keeps_off_a_workers_cores_until_the_end(pinning, affinities, error):
    made = pinning()
    try:
        with made:
            made.keep_off(made.choose(1))
            assert affinities == {1: {0, 1, 2}, 2: {0, 1, 2}}
            made.keep_off(made.choose(2))
            assert affinities == {1: {0, 1}, 2: {0, 1}}
            # No core is left.
            made.keep_off(made.choose(4))
            assert affinities == {1: {0, 1, 2, 3}, 2: {0, 1, 2, 3}}
            made.keep_off(made.choose(1))
            # A thread that is started meanwhile inherits them.
            affinities[3] = {0, 1, 2}
            if error:
                raise error
    except (ValueError, KeyboardInterrupt):
        assert error
    assert affinities == {1: {0, 1, 2, 3}, 2: {0, 1}, 3: {0, 1, 2, 3}}


def test_this_process_is_not_moved_for_a_worker_that_is_not_pinned(pinning, affinities):
    before = dict(affinities)
    with pinning("none") as made:
        made.keep_off(made.choose(1))
        assert affinities == before
    assert affinities == before


@needs_pinning
def test_all_threads_of_this_process_are_moved_and_moved_back():
    with ThreadPoolExecutor(1) as other:
        threads = [threading.get_native_id(), other.submit(threading.get_native_id).result()]
        before = [os.sched_getaffinity(thread) for thread in threads]
        with pytest.raises(ValueError), Pinning() as pinning:
            cpus = pinning.choose(1)
            pinning.keep_off(cpus)
            left = manager_cpus(cpus.pinned, USABLE) or USABLE
            assert [os.sched_getaffinity(thread) for thread in threads] == [left, left]
            raise ValueError
        assert [os.sched_getaffinity(thread) for thread in threads] == before


@needs_pinning
def test_threads_that_are_not_listed_or_have_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TASKS", tmp_path / "nothing")
    assert module._read_affinities() == {0: os.sched_getaffinity(0)}
    # Larger than any thread's number.
    for name in (threading.get_native_id(), 2**30):
        (tmp_path / str(name)).mkdir()
    monkeypatch.setattr(module, "TASKS", tmp_path)
    assert module._read_affinities() == {threading.get_native_id(): os.sched_getaffinity(0)}


def test_words_that_make_a_choice_again():
    assert cpus_arguments("auto") == cpus_arguments("AUTO") == ()
    assert cpus_arguments("0-3") == ("--cpus", "0-3")


def cores_of_threads(pid):
    """The cores of each thread of a process."""
    tasks = Path(f"/proc/{pid}/task")
    return {frozenset(os.sched_getaffinity(int(path.name))) for path in tasks.iterdir()}


@needs_pinning
def test_a_worker_has_its_cores_and_counts_all(variables):
    with Pinning() as pinning:
        for count in (1, len(USABLE)):
            cpus = pinning.choose(count)
            pinning.keep_off(cpus)
            with Worker("fake", environment=variables, cpus=cpus) as worker:
                found = worker.environment()
                assert cores_of_threads(worker._process.pid) == {cpus.pinned}
            assert found.cores == len(USABLE)
            if len(USABLE) > count:
                assert parse_cpus(found.cpus) == cpus.pinned


@needs_pinning
def test_a_worker_of_another_interpreter_has_its_cores_too(variables, tmp_path):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    cpus = Cpus(frozenset({min(USABLE)}), USABLE)
    with Worker("fake", environment=variables, python=str(python), cpus=cpus) as worker:
        assert worker.is_foreign and worker.environment().cores == len(USABLE)
        assert cores_of_threads(worker._process.pid) == {cpus.pinned}


def test_a_worker_that_cannot_be_pinned_starts(variables):
    cpus = Cpus(frozenset({10**6}), USABLE)
    with Worker("fake", environment=variables, cpus=cpus) as worker:
        found = worker.environment()
    assert parse_cpus(found.cpus) in (frozenset(), USABLE) and found.cores == len(USABLE)


@pytest.mark.parametrize(
    ("choice", "count", "expected"),
    [
        ("auto", 1, [{3}, {2}]),
        ("auto", 3, [{3, 2, 1}, {2, 1, 0}]),
        ("1-3", 1, [{3}, {2}]),
        ("1-3", 2, [{3, 2}, {2, 1}]),
        ("1", 2, [{1}, {1}]),
        ("none", 1, [set(), set()]),
    ],
)
def test_workers_side_by_side_have_a_core_for_each_thread(pinning, choice, count, expected):
    made = pinning(choice, usable=range(4))
    assert [one.choose(count).pinned for one in made.split(2)] == expected
