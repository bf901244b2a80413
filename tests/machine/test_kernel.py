"""Reading the kernel's files, and CPUs as it lists them."""

from types import SimpleNamespace

import psutil
import pytest

from opperf.machine.kernel import (
    READ_BYTES,
    Unreadable,
    format_cpus,
    parse_cpus,
    read_number,
    read_text,
    usable_cpus,
)


def test_a_file_that_takes_several_reads_is_read_whole(tmp_path):
    path = tmp_path / "file"
    path.write_text("x" * (2 * READ_BYTES + 1) + "\n")
    assert read_text(path) == "x" * (2 * READ_BYTES + 1)


def test_what_is_no_text_and_what_is_not_there(tmp_path):
    (tmp_path / "bytes").write_bytes(b" a\xff\n")
    assert read_text(tmp_path / "bytes") == "a\N{REPLACEMENT CHARACTER}"
    with pytest.raises(Unreadable, match="nothing: No such file"):
        read_text(tmp_path / "nothing")
    with pytest.raises(Unreadable, match="Is a directory"):
        read_text(tmp_path)


def test_files_do_not_stay_open(tmp_path):
    path = tmp_path / "file"
    path.write_text("1")
    before = psutil.Process().num_fds()
    for _ in range(3):
        assert read_number(path) == 1
    assert psutil.Process().num_fds() <= before


def test_cpus_are_asked_in_their_order_and_some_do_not_answer(faked):
    files = {f"sys/devices/system/cpu/cpu{cpu}/name": f"of {cpu}" for cpu in (0, 2, 10)}
    machine = faked(files, cpus=(10, 2, 1, 0))
    assert list(machine.read_each_cpu("name")) == ["of 0", "of 2", "of 10"]


def test_usable_cpus_are_those_of_the_process_if_it_says_so(monkeypatch):
    bound, free = SimpleNamespace(cpu_affinity=lambda: [1, 3]), SimpleNamespace()
    monkeypatch.setattr(psutil, "Process", lambda: bound)
    assert usable_cpus() == {1, 3}
    monkeypatch.setattr(psutil, "Process", lambda: free)
    for count, usable in ((3, {0, 1, 2}), (None, {0})):
        monkeypatch.setattr(psutil, "cpu_count", lambda count=count: count)
        assert usable_cpus() == usable


@pytest.mark.parametrize(
    "cpus, listed", [((3, 1, 2), "1-3"), ((0, 2, 4), "0,2,4"), ((7, 8), "7-8")]
)
def test_neighbours_are_listed_as_a_range(cpus, listed):
    assert format_cpus(cpus) == listed and parse_cpus(listed) == set(cpus)


@pytest.mark.parametrize("listed", ["x", "1-y", "0x1"])
def test_a_list_that_is_none(listed):
    with pytest.raises(ValueError):
        parse_cpus(listed)
