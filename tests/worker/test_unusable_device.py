"""The end of a worker process whose device cannot be used after a case."""

import os

import pytest

from opperf.model import Status
from opperf.worker import serve as worker
from opperf.worker.protocol import MeasureRequest


class Ended(BaseException):
    """The process would end here."""


@pytest.fixture
def device(fake, monkeypatch):
    """A device that is asynchronous, and whose waits raise the errors of a list."""
    errors = []

    def synchronize(device):
        if errors:
            error = errors[0] if len(errors) == 1 else errors.pop(0)
            if error is not None:
                raise error

    def end(code):
        raise Ended(code)

    monkeypatch.setattr(fake.queues, "is_asynchronous", lambda device: True)
    monkeypatch.setattr(fake, "synchronize", synchronize)
    monkeypatch.setattr(os, "_exit", end)
    return errors


def answer(fake, case):
    return worker.measure_case(fake, MeasureRequest(case=case))


def test_a_fault_that_stays_ends_the_process(fake, make_case, device, capfd):
    device.append(RuntimeError("CUDA error: device-side assert triggered\nand more"))
    with pytest.raises(Ended, match=str(worker.UNUSABLE)):
        answer(fake, make_case("fails"))
    words = "cpu(0) cannot be used after this case: CUDA error: device-side assert triggered"
    assert words in capfd.readouterr().err.splitlines()[-1]


def test_an_error_that_the_first_wait_raises_alone_does_not(fake, make_case, device):
    device[:] = [RuntimeError("queued"), None]
    assert answer(fake, make_case("fails")).status is Status.FAILED


def test_a_fault_that_a_record_does_not_show_ends_the_process_too(
    fake, make_case, device, monkeypatch
):
    def measure_and_break(*arguments, **options):
        record = measure(*arguments, **options)
        device.append(RuntimeError("CUDA error: an illegal memory access was encountered"))
        assert record.status is Status.OK
        return record

    measure = worker.measure
    monkeypatch.setattr(worker, "measure", measure_and_break)
    with pytest.raises(Ended):
        answer(fake, make_case("relu"))


def test_a_case_that_succeeds_ends_nothing(fake, make_case, device):
    assert answer(fake, make_case("relu")).status is Status.OK


def test_a_failure_on_a_synchronous_device_ends_nothing(fake, make_case, device, monkeypatch):
    monkeypatch.setattr(fake.queues, "is_asynchronous", lambda device: False)
    record = answer(fake, make_case("fails"))
    device.append(RuntimeError("never waited for"))
    assert record.status is Status.FAILED
