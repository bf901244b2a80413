"""Readings of a GPU's clocks during a case, from a fake library."""

import threading

import msgspec
import pytest
from fake_nvml import UUID, fake_nvml, refuse

from opperf.model import GpuState, NoteCode, RecordLine, Status
from opperf.runner import gpu_state as module
from opperf.runner.gpu_state import Gpu, Reading, find_gpu, state_of, throttling_note, watch
from opperf.runner.measure import measure

POWER, THERMAL, USER = 0x4, 0x20, 0x2


@pytest.fixture
def library(monkeypatch):
    """Sets the library of this process."""

    def install(nvml):
        monkeypatch.setattr(module, "nvidia_library", lambda: nvml)
        find_gpu.cache_clear()

    yield install
    find_gpu.cache_clear()


def test_a_reading_has_clock_temperature_and_reasons():
    reading = Gpu(fake_nvml([(1410, 71, POWER | THERMAL | USER)]), "handle").read()
    assert reading == Reading(1410, 71, POWER | THERMAL | USER)
    assert reading.reasons == ("power cap", "thermal slowdown")


def test_an_idle_gpu_has_no_reason():
    reading = Reading(345, 30, module.IDLE | 0x8)
    assert reading.is_idle and reading.reasons == ()


@pytest.mark.parametrize("bit", [0x0, 0x2, 0x10, 0x100, 0x400])
def test_clocks_that_power_and_heat_do_not_lower_are_not_throttling(bit):
    assert Reading(1980, 40, bit).reasons == ()


def test_an_older_driver_has_the_reasons_by_another_name():
    nvml = fake_nvml([(1410, 71, 0)], nvmlDeviceGetCurrentClocksEventReasons=refuse)
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: POWER
    nvml.nvmlDeviceGetClockInfo = nvml.nvmlDeviceGetTemperature = refuse
    assert Gpu(nvml, "handle").read() == Reading(None, None, POWER)


def test_an_older_package_lacks_a_function():
    nvml = fake_nvml([(1410, 71, POWER)], nvmlDeviceGetClockInfo=lambda handle, kind: 5)
    nvml.nvmlDeviceGetTemperature = refuse
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: THERMAL
    del nvml.nvmlDeviceGetCurrentClocksEventReasons
    assert Gpu(nvml, "handle").read() == Reading(5, None, THERMAL)


def test_a_gpu_is_found_by_its_uuid(library):
    library(fake_nvml([(1410, 71, 0)]))
    assert isinstance(find_gpu(UUID), Gpu)
    assert find_gpu("GPU-other") is None


def test_without_the_library_nothing_is_read(library):
    library(None)
    assert find_gpu(UUID) is None
    with watch(find_gpu(UUID)) as readings:
        pass
    assert readings == [] and state_of(readings) is None


def test_the_library_is_not_looked_for_without_a_gpu(monkeypatch):
    monkeypatch.setattr(module, "nvidia_library", lambda: pytest.fail("was looked for"))
    find_gpu.cache_clear()
    assert find_gpu("") is None


def test_the_state_is_read_before_and_after():
    gpu = Gpu(fake_nvml([(1000, 40, 0), (1200, 50, 0)]), "handle")
    with watch(gpu) as readings:
        assert readings == [Reading(1000, 40, 0)]
    assert readings[-1] == Reading(1200, 50, 0)


def test_a_long_case_is_read_in_between(monkeypatch):
    monkeypatch.setattr(module, "EVERY_S", 0.001)
    three = threading.Event()

    class Counting(Gpu):
        count = 0

        def read(self):
            self.count += 1
            if self.count == 3:
                three.set()
            return super().read()

    with watch(Counting(fake_nvml([(1000, 40, 0)]), "handle")) as readings:
        assert three.wait(timeout=60)
    assert len(readings) >= 4
    assert not [one for one in threading.enumerate() if one.name == "opperf-gpu-state"]


def test_the_readings_end_with_an_error():
    gpu = Gpu(fake_nvml([(1000, 40, 0)]), "handle")
    with pytest.raises(ValueError), watch(gpu):
        raise ValueError
    assert not [one for one in threading.enumerate() if one.name == "opperf-gpu-state"]


def test_a_state_has_the_clocks_of_a_busy_gpu():
    readings = [
        Reading(345, 30, module.IDLE),
        Reading(1980, 60, POWER),
        Reading(1500, 70, 0),
        Reading(None, None, 0),
    ]
    assert state_of(readings) == GpuState(
        readings=4,
        throttled=1,
        reasons=("power cap",),
        lowest_mhz=1500,
        highest_mhz=1980,
        temperature_c=70,
    )
    idle = state_of(readings[:1])
    assert (idle.lowest_mhz, idle.highest_mhz, idle.throttled) == (345, 345, 0)


def test_states_of_rounds_are_merged():
    first = GpuState(readings=2, lowest_mhz=1500, highest_mhz=1980, temperature_c=60)
    second = GpuState(
        readings=3, throttled=1, reasons=("power cap",), lowest_mhz=1400, highest_mhz=1900
    )
    merged = GpuState(
        readings=5,
        throttled=1,
        reasons=("power cap",),
        lowest_mhz=1400,
        highest_mhz=1980,
        temperature_c=60,
    )
    assert first.merge(second) == second.merge(first) == merged


def test_a_note_has_reasons_clocks_and_temperature():
    state = state_of([Reading(1980, 83, THERMAL | POWER), Reading(1500, 84, 0)])
    note = throttling_note("gpu(0)", state)
    assert (note.metric, note.code) == ("", NoteCode.THROTTLED)
    assert note.message == (
        "gpu(0) lowered its clocks at 1 of 2 readings (power cap, thermal slowdown): 1500 to 1980 "
        "MHz, up to 84 °C"
    )
    assert throttling_note("gpu(0)", state_of([Reading(1980, 60, USER)])) is None


def test_a_record_has_the_state_of_its_gpu(library, fake, make_case, monkeypatch):
    library(fake_nvml([(1410, 71, POWER)]))
    monkeypatch.setattr(fake, "uuid", lambda device: UUID)
    record = measure(make_case("relu"), fake)
    assert record.status is Status.OK
    assert (record.gpu.reasons, record.gpu.lowest_mhz) == (("power cap",), 1410)
    assert record.note("", NoteCode.THROTTLED) is not None
    line = msgspec.json.encode(RecordLine.of(record))
    assert msgspec.json.decode(line, type=RecordLine).record(record.case) == record


def test_a_record_without_a_gpu_has_no_state(fake, make_case):
    record = measure(make_case("relu"), fake)
    assert record.gpu is None and record.notes == ()
