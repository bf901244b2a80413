import pytest

from opperf.errors import UnsupportedError
from opperf.instruments.callgrind import counter
from opperf.instruments.callgrind.counter import DUMPS


def test_a_process_that_is_no_worker_is_refused(monkeypatch):
    monkeypatch.delenv(DUMPS, raising=False)
    with pytest.raises(UnsupportedError, match="in workers alone, .*: use .opperf run --profiler"):
        counter.Requests()


def test_a_worker_outside_of_valgrind_is_refused(monkeypatch):
    monkeypatch.setenv(DUMPS, "somewhere")
    with pytest.raises(UnsupportedError, match="this process is not run by Valgrind"):
        counter.Requests()


def test_another_architecture_is_refused(monkeypatch):
    monkeypatch.setenv(DUMPS, "somewhere")
    monkeypatch.setattr(counter.platform, "machine", lambda: "riscv64")
    with pytest.raises(UnsupportedError, match="on x86_64 and aarch64, not on riscv64"):
        counter.Requests()
