"""NVIDIA's GPUs: their facts, their use, and their clocks, temperature and throttling at a
moment."""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from opperf.extras import install_extra
from opperf.machine.health.finding import Reading, probe
from opperf.machine.kernel import Machine, Unreadable
from opperf.model import GpuState, Note, NoteCode


def nvidia_library() -> Any:
    """Returns NVIDIA's management library, initialised; None without it or a driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        # Without the package or a driver there are no facts about GPUs.
        return None
    return pynvml


def read_fact(nvml: Any, name: str, *arguments: Any) -> Any:
    """Returns what a function of NVIDIA's library returns; None if anything does not support it."""
    # Older versions of the package have fewer functions.
    function = getattr(nvml, name, None)
    if function is None:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def list_gpus(nvml: Any) -> Iterator[Gpu]:
    """Yields the GPUs of this machine."""
    for index in range(read_fact(nvml, "nvmlDeviceGetCount") or 0):
        handle = read_fact(nvml, "nvmlDeviceGetHandleByIndex", index)
        if handle is not None:
            yield Gpu(nvml, handle)


def gpu_facts() -> tuple[dict[str, str], ...]:
    """Returns, for each GPU: model, driver, CUDA version of the driver, memory in bytes, maximum
    clocks of its processors and its memory in MHz; without those that it does not report."""
    nvml = nvidia_library()
    if nvml is None:
        return ()
    driver = read_fact(nvml, "nvmlSystemGetDriverVersion")
    cuda = read_fact(nvml, "nvmlSystemGetCudaDriverVersion")
    found = []
    for gpu in list_gpus(nvml):
        memory = gpu.get("MemoryInfo")
        facts = {
            "model": gpu.get("Name"),
            "driver": driver,
            "cuda": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
            "memory_bytes": None if memory is None else memory.total,
            "clock_mhz": gpu.maximum_mhz,
            "memory_clock_mhz": gpu.get("MaxClockInfo", nvml.NVML_CLOCK_MEM),
        }
        # Older versions return bytes.
        texts = {
            name: fact.decode() if isinstance(fact, bytes) else str(fact)
            for name, fact in facts.items()
            if fact is not None
        }
        found.append(texts)
    return tuple(found)


IDLE = 0x1
"""Bit of a GPU that lowers its clocks because nothing runs on it."""

REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x200: "board limit",
}
"""Bits of NVML's `nvmlClocksEventReasons` for clocks that power or heat lowers. The others are not
throttling: idleness, clocks that a user or a display has set, those of other GPUs of a group, and
the voltage that bounds the highest clock."""

HEAT = 0x8 | 0x20 | 0x40
"""Bits of clocks that heat lowers."""

EVERY_S = 0.25
"""Seconds between two readings during a case. Most cases take up to a second, and have a few; each
is three calls of the driver, which disturb few of the case's calls, and not its median."""


class GpuReading(NamedTuple):
    """State of a GPU at a moment. None for what cannot be read."""

    clock_mhz: int | None
    """Clock of its processors (SM)."""
    temperature_c: int | None
    bits: int = 0
    """Why its clocks are lowered, as NVML's bits; 0 if that cannot be read."""

    @property
    def is_idle(self) -> bool:
        return bool(self.bits & IDLE)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons in words. An idle GPU has none: its clocks matter to no call."""
        if self.is_idle:
            return ()
        return tuple(name for bit, name in REASONS.items() if self.bits & bit)


class Gpu:
    """A GPU, by its handle in NVIDIA's library."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def get(self, what: str, *arguments: Any) -> Any:
        """Returns what the library gets of a device, by the end of the function's name."""
        return read_fact(self._nvml, f"nvmlDeviceGet{what}", self._handle, *arguments)

    @functools.cached_property
    def maximum_mhz(self) -> int | None:
        """Maximum clock of its processors; None if it does not report it."""
        clock: int | None = self.get("MaxClockInfo", self._nvml.NVML_CLOCK_SM)
        return clock

    def read(self) -> GpuReading:
        bits = self.get("CurrentClocksEventReasons")
        if bits is None:
            # The same by its name in drivers before 535.
            bits = self.get("CurrentClocksThrottleReasons")
        return GpuReading(
            self.get("ClockInfo", self._nvml.NVML_CLOCK_SM),
            self.get("Temperature", self._nvml.NVML_TEMPERATURE_GPU),
            bits or 0,
        )

    def read_use(self, name: str) -> GpuUse:
        rates, memory = self.get("UtilizationRates"), self.get("MemoryInfo")
        power, energy = self.get("PowerUsage"), self.get("TotalEnergyConsumption")
        return GpuUse(
            name,
            None if rates is None else rates.gpu / 100,
            None if memory is None else int(memory.used),
            None if memory is None else int(memory.total),
            self.get("Temperature", self._nvml.NVML_TEMPERATURE_GPU),
            None if power is None else power * MILLI,
            self.get("ClockInfo", self._nvml.NVML_CLOCK_SM),
            None if energy is None else energy * MILLI,
        )


@functools.cache
def find_gpu(name: str) -> Gpu | None:
    """Returns the GPU with an index or UUID; None if that is empty, or NVIDIA's library lacks
    it."""
    nvml = nvidia_library() if name else None
    if nvml is None:
        return None
    by, known = ("Index", int(name)) if name.isdecimal() else ("UUID", name)
    handle = read_fact(nvml, f"nvmlDeviceGetHandleBy{by}", known)
    return None if handle is None else Gpu(nvml, handle)


VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
"""Environment variable of CUDA with the GPUs that a process sees, by index or UUID."""

UUID_BEGINS = ("GPU-", "MIG-")

MILLI = 1e-3


class GpuUse(NamedTuple):
    """Use of a GPU at a moment. None for what cannot be read."""

    name: str
    """Its index on the machine."""
    load: float | None
    """Share of the last moments in which a kernel ran."""
    used_bytes: int | None
    total_bytes: int | None
    temperature_c: float | None
    power_w: float | None
    clock_mhz: float | None
    energy_j: float | None
    """Since the driver was loaded."""


@functools.cache
def gpu_names() -> tuple[str, ...]:
    """Returns the indices of the machine's GPUs; none without NVIDIA's library or a driver."""
    nvml = nvidia_library()
    if nvml is None:
        return ()
    return tuple(map(str, range(read_fact(nvml, "nvmlDeviceGetCount") or 0)))


DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Devices of the drivers of NVIDIA, of AMD, and of both on Windows."""


def has_driver() -> bool:
    """Returns whether the machine has a driver of GPUs, without which none works."""
    return bool(gpu_names()) or any(map(os.path.exists, DRIVERS))


def visible_gpus(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the GPUs, by index or UUID, that a process with these environment variables sees: all
    of them, or those that are listed before any other word, as CUDA reads `-1` and `NoDevFiles`."""
    listed = variables.get(VISIBLE_DEVICES)
    if listed is None:
        return gpu_names()
    return tuple(
        itertools.takewhile(
            lambda name: name.isdecimal() or name.startswith(UUID_BEGINS),
            map(str.strip, listed.split(",")),
        )
    )


class GpuMeter:
    """Reads the use of GPUs, by index or UUID; of those alone that NVIDIA's library knows."""

    def __init__(self, names: Sequence[str]) -> None:
        self._gpus = {name: gpu for name in names if (gpu := find_gpu(name)) is not None}

    def read(self) -> list[GpuUse]:
        return [gpu.read_use(name) for name, gpu in self._gpus.items()]


@contextmanager
def watch(gpu: Gpu | None) -> Iterator[list[GpuReading]]:
    """Reads the state of a GPU at the begin and the end of the context, and every `EVERY_S` seconds
    between them. The list is complete after its end, and empty without a GPU."""
    readings: list[GpuReading] = []
    if gpu is None:
        yield readings
        return
    ended = threading.Event()

    def read_until_end() -> None:
        while not ended.wait(EVERY_S):
            readings.append(gpu.read())

    readings.append(gpu.read())
    thread = threading.Thread(target=read_until_end, name="opperf-gpu-state", daemon=True)
    thread.start()
    try:
        yield readings
    finally:
        ended.set()
        thread.join()
        readings.append(gpu.read())


def state_of(readings: Sequence[GpuReading]) -> GpuState | None:
    """Returns the state by some readings; None without any."""
    if not readings:
        return None
    # The GPU may be idle before the first call, and its clocks then say nothing about the calls.
    busy = [reading for reading in readings if not reading.is_idle] or readings
    clocks = [reading.clock_mhz for reading in busy if reading.clock_mhz is not None]
    temperatures = [
        reading.temperature_c for reading in readings if reading.temperature_c is not None
    ]
    return GpuState(
        readings=len(readings),
        throttled=sum(bool(reading.reasons) for reading in readings),
        reasons=tuple(sorted({reason for reading in readings for reason in reading.reasons})),
        lowest_mhz=min(clocks, default=None),
        highest_mhz=max(clocks, default=None),
        temperature_c=max(temperatures, default=None),
    )


def throttling_note(device: str, state: GpuState) -> Note | None:
    """Returns a note on a GPU that lowered its clocks; None if it did not."""
    if not state.throttled:
        return None
    text = (
        f"{device} lowered its clocks at {state.throttled} of {state.readings} readings "
        f"({', '.join(state.reasons)})"
    )
    if state.lowest_mhz is not None:
        text += f": {state.lowest_mhz} to {state.highest_mhz} MHz"
    if state.temperature_c is not None:
        text += f", up to {state.temperature_c} °C"
    return Note("", NoteCode.THROTTLED, text)


SLOWED = 0.75
"""Share of the maximum clock below which times are not those of the GPU: nvbench's threshold. Under
full load most GPUs stay above, also at their power limit."""

FIRST_REST_S = 0.05
"""First pause, after which power is below its limit; each further one is as long as all before."""

LONGEST_REST_S = 10.0
"""Longest rest: a GPU that is still hot is cooled too little for a benchmark."""

COOLED_C = 5
"""Degrees by which a GPU that was hot has to cool down, or the next call heats it up again."""


def was_slowed(readings: Sequence[GpuReading], maximum_mhz: int | None) -> bool:
    """Returns whether heat or power lowered the clocks so far that a case has to be measured again;
    any lowering counts where clocks are not reported."""
    return any(
        reading.clock_mhz is None or maximum_mhz is None or reading.clock_mhz < SLOWED * maximum_mhz
        for reading in readings
        if reading.reasons
    )


def _is_warm(readings: Sequence[GpuReading], now: GpuReading) -> bool:
    if now.bits & HEAT or now.temperature_c is None:
        return bool(now.bits & HEAT)
    hot_c = [r.temperature_c for r in readings if r.bits & HEAT and r.temperature_c is not None]
    return bool(hot_c) and now.temperature_c > max(hot_c) - COOLED_C


def rest_until_cool(
    gpu: Gpu, readings: Sequence[GpuReading], sleep: Callable[[float], object] = time.sleep
) -> bool:
    """Waits until a GPU that slowed down during a case is cool. Returns whether the case is to be
    measured again: not if it did not slow down, or is still warm."""
    if not was_slowed(readings, gpu.maximum_mhz):
        return False
    now, rested_s = readings[-1], 0.0
    while not rested_s or (_is_warm(readings, now) and rested_s < LONGEST_REST_S):
        pause_s = min(max(FIRST_REST_S, rested_s), LONGEST_REST_S - rested_s)
        sleep(pause_s)
        rested_s += pause_s
        now = gpu.read()
    return not _is_warm(readings, now)


DRIVER = "driver/nvidia/version"


@probe(persistence="transient")
def gpu_clocks(machine: Machine) -> Reading:
    """A GPU that is hot, or at its power limit, lowers its clocks, and all kernels take longer; a
    run notes the cases for which it did."""
    if not (machine.proc / DRIVER).exists():
        return Reading("no NVIDIA driver")
    nvml = nvidia_library()
    if nvml is None:
        command = install_extra("pynvml")
        raise Unreadable(f"{command} reads clocks, throttling and temperature, also during runs")
    found = [gpu.read() for gpu in list_gpus(nvml)]
    if not found:
        raise Unreadable("NVIDIA's library finds no GPU that this user may read")
    states = []
    for gpu in found:
        figures = [
            *([] if gpu.clock_mhz is None else [f"{gpu.clock_mhz} MHz"]),
            *([] if gpu.temperature_c is None else [f"{gpu.temperature_c} °C"]),
            *(["idle"] if gpu.is_idle else gpu.reasons),
        ]
        states.append(", ".join(figures) or "nothing reported")
    lowered = any(gpu.reasons for gpu in found)
    return Reading("; ".join(states), "warn" if lowered else "ok")


PROBES = (gpu_clocks,)
