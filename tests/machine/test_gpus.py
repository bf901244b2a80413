"""Facts and clocks of GPUs, from a fake library."""

import threading
from types import SimpleNamespace

import msgspec
import pytest
from fake_nvml import UUID, fake_nvml, refuse

from opperf.extras import install_command
from opperf.machine import gpus as module
from opperf.machine.gpus import (
    DRIVER,
    Gpu,
    GpuReading,
    find_gpu,
    gpu_facts,
    rest_until_cool,
    state_of,
    throttling_note,
    watch,
)
from opperf.machine.health.examine import examine
from opperf.model import GpuState, NoteCode, RecordLine, Status
from opperf.worker.measure import measure

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
    assert reading == GpuReading(1410, 71, POWER | THERMAL | USER)
    assert reading.reasons == ("power cap", "thermal slowdown")


def test_an_idle_gpu_has_no_reason():
    reading = GpuReading(345, 30, module.IDLE | 0x8)
    assert reading.is_idle and reading.reasons == ()


@pytest.mark.parametrize("bit", [0x0, 0x2, 0x10, 0x100, 0x400])
def test_clocks_that_power_and_heat_do_not_lower_are_not_throttling(bit):
    assert GpuReading(1980, 40, bit).reasons == ()


def test_an_older_driver_has_the_reasons_by_another_name():
    nvml = fake_nvml([(1410, 71, 0)], nvmlDeviceGetCurrentClocksEventReasons=refuse)
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: POWER
    nvml.nvmlDeviceGetClockInfo = nvml.nvmlDeviceGetTemperature = refuse
    assert Gpu(nvml, "handle").read() == GpuReading(None, None, POWER)


def test_an_older_package_lacks_a_function():
    nvml = fake_nvml([(1410, 71, POWER)], nvmlDeviceGetClockInfo=lambda handle, kind: 5)
    nvml.nvmlDeviceGetTemperature = refuse
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: THERMAL
    del nvml.nvmlDeviceGetCurrentClocksEventReasons
    assert Gpu(nvml, "handle").read() == GpuReading(5, None, THERMAL)


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
        assert readings == [GpuReading(1000, 40, 0)]
    assert readings[-1] == GpuReading(1200, 50, 0)


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
        GpuReading(345, 30, module.IDLE),
        GpuReading(1980, 60, POWER),
        GpuReading(1500, 70, 0),
        GpuReading(None, None, 0),
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
    state = state_of([GpuReading(1980, 83, THERMAL | POWER), GpuReading(1500, 84, 0)])
    note = throttling_note("gpu(0)", state)
    assert (note.metric, note.code) == ("", NoteCode.THROTTLED)
    assert note.message == (
        "gpu(0) lowered its clocks at 1 of 2 readings (power cap, thermal slowdown): 1500 to 1980 "
        "MHz, up to 84 °C"
    )
    assert throttling_note("gpu(0)", state_of([GpuReading(1980, 60, USER)])) is None


def slowed(*readings, maximum=1980):
    """A GPU that reads so after a case, and the pauses that it is given."""
    nvml = fake_nvml(list(readings))
    nvml.nvmlDeviceGetMaxClockInfo = lambda handle, kind: maximum
    return Gpu(nvml, "handle"), []


@pytest.mark.parametrize(
    "readings",
    [
        [],
        [GpuReading(1980, 70, 0)],
        [GpuReading(1900, 70, POWER)],
        [GpuReading(300, 40, module.IDLE | POWER)],
        [GpuReading(900, 60, USER)],
    ],
)
def test_a_gpu_that_did_not_slow_down_is_not_rested(readings):
    gpu, pauses = slowed((1980, 60, 0))
    assert not rest_until_cool(gpu, readings, pauses.append) and pauses == []


@pytest.mark.parametrize("maximum, clock", [(1980, 1400), (None, 1900), (1980, None)])
def test_after_its_power_limit_a_gpu_has_a_short_rest(maximum, clock):
    gpu, pauses = slowed((300, 80, 0), maximum=maximum)
    readings = [GpuReading(1980, 80, 0), GpuReading(clock, 80, POWER)]
    assert rest_until_cool(gpu, readings, pauses.append)
    assert pauses == [module.FIRST_REST_S]


def test_a_hot_gpu_rests_until_it_is_cooler():
    gpu, pauses = slowed((300, 89, THERMAL), (300, 87, 0), (300, 85, 0))
    assert rest_until_cool(gpu, [GpuReading(1200, 90, THERMAL)], pauses.append)
    assert pauses == [0.05, 0.05, 0.1]


def test_a_gpu_that_stays_hot_is_not_waited_for_without_end():
    gpu, pauses = slowed((300, 90, THERMAL))
    assert not rest_until_cool(gpu, [GpuReading(1200, 90, THERMAL)], pauses.append)
    assert sum(pauses) == pytest.approx(module.LONGEST_REST_S)


def test_a_record_has_the_state_of_its_gpu(library, fake, make_case, monkeypatch):
    library(fake_nvml([(1410, 71, POWER)]))
    monkeypatch.setattr(fake.queues, "uuid", lambda device: UUID)
    record = measure(make_case("relu"), fake)
    assert record.status is Status.OK
    assert (record.gpu.reasons, record.gpu.lowest_mhz) == (("power cap",), 1410)
    assert record.note("", NoteCode.THROTTLED) is not None
    line = msgspec.json.encode(RecordLine.of(record))
    assert msgspec.json.decode(line, type=RecordLine).record(record.case) == record


def test_times_are_measured_again_once_a_gpu_that_was_slowed_is_cool(
    library, fake, make_case, monkeypatch
):
    slow, cool = (1000, 80, POWER), (1900, 70, 0)
    nvml = fake_nvml([slow, slow, (300, 75, 0), cool])
    nvml.nvmlDeviceGetMaxClockInfo = lambda handle, kind: 1980
    library(nvml)
    case = make_case("relu", passes=("forward", "backward"), runs=3, warmup=0, memory=True)
    plain = measure(case, fake)
    calls = fake.calls.count("call")
    monkeypatch.setattr(fake.queues, "uuid", lambda device: UUID)
    record = measure(case, fake)
    assert (record.gpu.lowest_mhz, record.gpu.readings) == (1900, 2)
    # The note on the first readings is gone, and all else is as without a GPU.
    assert record.notes == plain.notes and record.summaries == plain.summaries
    assert record.samples.keys() == plain.samples.keys()
    assert fake.calls.count("call") - calls > calls > 0


def test_a_record_without_a_gpu_has_no_state(fake, make_case):
    record = measure(make_case("relu"), fake)
    assert record.gpu is None and record.notes == ()


NVML = SimpleNamespace(
    NVMLError=type("NVMLError", (Exception,), {}),
    NVML_CLOCK_SM="sm",
    NVML_CLOCK_MEM="mem",
    nvmlSystemGetDriverVersion=lambda: b"550.54",
    nvmlSystemGetCudaDriverVersion=lambda: 12040,
    nvmlDeviceGetCount=lambda: 2,
    nvmlDeviceGetHandleByIndex=lambda index: index,
    nvmlDeviceGetName=lambda device: f"GPU {device}",
    nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(total=2**36),
    nvmlDeviceGetMaxClockInfo=lambda device, kind: {"sm": 1980, "mem": 2619}[kind],
)


def test_every_gpu_has_its_facts(library):
    library(NVML)
    first, second = gpu_facts()
    assert first == {
        "model": "GPU 0",
        "driver": "550.54",
        "cuda": "12.4",
        "memory_bytes": "68719476736",
        "clock_mhz": "1980",
        "memory_clock_mhz": "2619",
    }
    assert second["model"] == "GPU 1"


def refuse_fact(*arguments):
    raise NVML.NVMLError("Not Supported")


def test_what_a_part_of_a_gpu_does_not_report_is_missing(library):
    nvml = SimpleNamespace(
        **vars(NVML)
        | dict.fromkeys(("nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMemoryInfo"), refuse_fact)
    )
    library(nvml)
    assert gpu_facts()[0] == {"model": "GPU 0", "driver": "550.54", "cuda": "12.4"}


def test_a_gpu_that_is_lost_has_no_facts(library):
    lost = SimpleNamespace(**vars(NVML) | {"nvmlDeviceGetHandleByIndex": refuse_fact})
    library(lost)
    assert gpu_facts() == ()


def test_without_the_library_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(module, "nvidia_library", lambda: None)
    assert gpu_facts() == ()


DRIVER_FILE = {f"proc/{DRIVER}": "NVRM version: 1"}


@pytest.fixture
def found(faked, monkeypatch):
    """The finding with a library, on a machine with these files."""

    def read(library, files=DRIVER_FILE):
        monkeypatch.setattr(module, "nvidia_library", lambda: library)
        (one,) = examine(faked(files), module.PROBES)
        return one.level, one.state

    return read


def test_a_machine_without_a_driver_has_none(found):
    assert found(fake_nvml([(1, 1, 0)]), {}) == ("ok", "no NVIDIA driver")


def test_the_package_is_named_where_it_is_missing(found):
    level, state = found(None)
    assert level == "unknown" and install_command("opperf[gpu]") in state


def test_lowered_clocks_are_a_warning(found):
    assert found(fake_nvml([(1410, 84, 0x40)])) == (
        "warn",
        "1410 MHz, 84 °C, hardware thermal slowdown",
    )


def test_an_idle_gpu_is_fine(found):
    assert found(fake_nvml([(345, 30, 0x1)])) == ("ok", "345 MHz, 30 °C, idle")


def test_what_a_gpu_does_not_report_is_missing(found):
    nvml = fake_nvml([(1, 1, 0)], nvmlDeviceGetClockInfo=refuse, nvmlDeviceGetTemperature=refuse)
    assert found(nvml) == ("ok", "nothing reported")


def test_a_gpu_that_cannot_be_read_is_unknown(found):
    level, state = found(fake_nvml([(1, 1, 0)], nvmlDeviceGetHandleByIndex=refuse))
    assert level == "unknown" and "no GPU" in state
