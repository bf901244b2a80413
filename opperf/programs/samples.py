"""Samples of the machine and of a program's processes, and their metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import psutil

from opperf.instruments import program_metrics as metrics
from opperf.machine.gpus import GpuMeter, GpuUse
from opperf.model import Metric

MIB = 2**20

Data = dict[str, Any]


class Tree:
    """The processes that one process has started, and itself. Of those that have ended, the last
    reading counts."""

    def __init__(self, process: int) -> None:
        self.id = process
        self._cpu_s: dict[int, float] = {}
        self._io: dict[int, tuple[int, int]] = {}
        self.memory_bytes = 0
        self.core = 0
        self.at = time.monotonic()
        self.load = 0.0
        """Cores that it used since the reading before."""
        with contextlib.suppress(psutil.Error):
            self.read()

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())

    @property
    def read_bytes(self) -> int:
        return sum(read for read, _ in self._io.values())

    @property
    def write_bytes(self) -> int:
        return sum(written for _, written in self._io.values())

    def read(self) -> None:
        """Raises `psutil.Error` if the process has ended."""
        root = psutil.Process(self.id)
        cpu_before, at_before = self.cpu_s, self.at
        memory = 0
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                self._cpu_s[process.pid] = times.user + times.system
                memory += process.memory_info().rss
                # A kernel may not count them.
                if hasattr(process, "io_counters"):
                    counters = process.io_counters()
                    self._io[process.pid] = counters.read_bytes, counters.write_bytes
        self.memory_bytes = memory
        self.core = root.cpu_num() if hasattr(root, "cpu_num") else 0
        self.at = time.monotonic()
        self.load = max(0.0, self.cpu_s - cpu_before) / max(1e-9, self.at - at_before)


def _disks() -> Any:
    with contextlib.suppress(NotImplementedError):
        return psutil.disk_io_counters()
    return None


class Sample(NamedTuple):
    """A sample of a program's machine, with what all its processes used by then."""

    at: float
    cpu_s: float
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    net_sent: int
    """Of the machine since its start, as what it has received."""
    net_received: int
    gpus: tuple[GpuUse, ...]


class Sampler:
    """Samples the machine, and the processes of a program by their ids. `gpus` are those that they
    see together."""

    def __init__(self, processes: Sequence[int], gpus: Sequence[str]) -> None:
        self._meter = GpuMeter(gpus)
        self._cores = psutil.cpu_count() or 1
        # Without an interval, a share since the call before.
        psutil.cpu_percent()
        self.trees = {process: Tree(process) for process in processes}
        self.samples = [self._sample()]

    def _sample(self) -> Sample:
        trees, network = self.trees.values(), psutil.net_io_counters()
        return Sample(
            time.monotonic(),
            sum(tree.cpu_s for tree in trees),
            sum(tree.memory_bytes for tree in trees),
            sum(tree.read_bytes for tree in trees),
            sum(tree.write_bytes for tree in trees),
            network.bytes_sent if network else 0,
            network.bytes_recv if network else 0,
            tuple(self._meter.read()),
        )

    def read(self) -> list[Data]:
        """Samples all, and returns the data of the machine: its GPUs, cores, disks and network."""
        for tree in self.trees.values():
            try:
                tree.read()
            except psutil.Error:
                tree.memory_bytes = 0
        self.samples.append(self._sample())
        memory = psutil.virtual_memory()
        found: list[Data] = [
            {"cpudata": {"memory": [memory.used, memory.total], "load": psutil.cpu_percent()}}
        ]
        disks, network = _disks(), psutil.net_io_counters()
        if disks is not None:
            found.append({"iodata": dict(disks._asdict())})
        if network is not None:
            found.append({"netdata": dict(network._asdict())})
        return found

    def process_data(self, process: int) -> Data:
        """Returns the data of a process at the last sample."""
        tree = self.trees[process]
        return {
            "process": {
                "pid": process,
                "load": 100 * tree.load / self._cores,
                "num": tree.core,
                "memory": [tree.memory_bytes, psutil.virtual_memory().total],
                "read_bytes": tree.read_bytes,
                "write_bytes": tree.write_bytes,
            }
        }

    def gpu_data(self, names: Sequence[str]) -> Data | None:
        """Returns the data of these GPUs at the last sample; None if there are none."""
        found = {gpu.name: _gpu_fields(gpu) for gpu in self.samples[-1].gpus if gpu.name in names}
        return {"gpudata": found} if found else None

    def metrics(self, peak_bytes: int) -> list[tuple[Metric, list[float]]]:
        """Returns the metrics of the samples. `peak_bytes` is a lower bound of the memory's peak
        that the processes have said themselves."""
        samples = self.samples
        memory = max([peak_bytes, *(sample.memory_bytes for sample in samples)])
        gpus = [sample.gpus for sample in samples if sample.gpus]
        found = [
            (
                metrics.CPU_LOAD,
                _rates(samples, [100 * sample.cpu_s / self._cores for sample in samples]),
            ),
            (metrics.PROGRAM_MEMORY, [float(memory)] if memory else []),
            (metrics.DISK_READ, _rates(samples, [sample.read_bytes for sample in samples])),
            (metrics.DISK_WRITE, _rates(samples, [sample.write_bytes for sample in samples])),
            (metrics.NET_SENT, _rates(samples, [sample.net_sent for sample in samples])),
            (metrics.NET_RECEIVED, _rates(samples, [sample.net_received for sample in samples])),
            (metrics.GPU_LOAD, [100 * sum(loads) / len(loads) for loads in _each(gpus, "load")]),
            (metrics.GPU_MEMORY, _peak(map(sum, _each(gpus, "used_bytes")))),
            (metrics.GPU_TEMPERATURE, list(map(max, _each(gpus, "temperature_c")))),
            (metrics.GPU_POWER, list(map(sum, _each(gpus, "power_w")))),
            (metrics.GPU_CLOCK, list(map(min, _each(gpus, "clock_mhz")))),
            (metrics.ENERGY, _energy(samples)),
        ]
        return [(metric, values) for metric, values in found if values]

    def energy_per_item(self, begin: float, end: float, rate: float) -> tuple[Metric, list[float]]:
        """Returns the energy of an item at a rate, by the power between two times of the monotonic
        clock; without values if no sample is between them."""
        inside = [each.gpus for each in self.samples if begin <= each.at <= end and each.gpus]
        powers = [sum(found) for found in _each(inside, "power_w")]
        return metrics.ENERGY_PER_ITEM, [sum(powers) / len(powers) / rate] if powers else []


def _gpu_fields(gpu: GpuUse) -> Data:
    fields = {
        "memory": None
        if gpu.used_bytes is None or gpu.total_bytes is None
        else [gpu.used_bytes / MIB, gpu.total_bytes / MIB],
        "load": gpu.load,
        "temperature": gpu.temperature_c,
        "power": gpu.power_w,
        "clock": gpu.clock_mhz,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _rates(samples: Sequence[Sample], amounts: Sequence[float]) -> list[float]:
    pairs = zip(samples, samples[1:], amounts, amounts[1:], strict=False)
    return [
        max(0.0, after - before) / (end.at - begin.at)
        for begin, end, before, after in pairs
        if end.at > begin.at
    ]


def _each(readings: Sequence[Sequence[GpuUse]], field: str) -> list[list[float]]:
    """Returns a field of all GPUs at each reading that has it."""
    found = ([getattr(gpu, field) for gpu in gpus] for gpus in readings)
    known = ([float(value) for value in values if value is not None] for values in found)
    return [values for values in known if values]


def _peak(values: Any) -> list[float]:
    highest = max(values, default=None)
    return [] if highest is None else [float(highest)]


def _energy(samples: Sequence[Sample]) -> list[float]:
    """By the GPUs' own counters, or by their power at each sample."""
    first, last = samples[0], samples[-1]
    if not last.gpus or last.at <= first.at:
        return []
    counters = [
        (begin.energy_j, end.energy_j) for begin, end in zip(first.gpus, last.gpus, strict=True)
    ]
    known = [end - begin for begin, end in counters if begin is not None and end is not None]
    if len(known) == len(counters):
        return [float(sum(known))]
    powers = [(sample.at, sum(gpu.power_w or 0.0 for gpu in sample.gpus)) for sample in samples]
    energy = sum(
        (after - before) * (one + other) / 2
        for (before, one), (after, other) in zip(powers, powers[1:], strict=False)
    )
    return [energy] if energy else []
