"""PyTorch's runtime: queues of devices, memory, the build, its processes and profilers."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from opperf.frameworks import capabilities
from opperf.frameworks.timing import ProfilerFactory
from opperf.frameworks.torch import flops, messages, options, private, tensors, xla
from opperf.frameworks.torch.devices import (
    cache_flush,
    devices,
    empty_kernel,
    event,
    free_memory,
    has_events,
    ranges,
    torch_device,
    uuid,
)
from opperf.frameworks.torch.kineto import NativeProfiler, tracing
from opperf.frameworks.torch.memory import measure


class TorchQueues(capabilities.Queues):
    """Streams of CUDA's, and of what else queues work."""

    uuid = staticmethod(uuid)
    empty_kernel = staticmethod(empty_kernel)
    has_events = staticmethod(has_events)
    event = staticmethod(event)
    cache_flush = staticmethod(cache_flush)

    def has_queue(self, device: str) -> bool:
        return not device.startswith("cpu") or xla.is_in_use()

    def is_asynchronous(self, device: str) -> bool:
        return not device.startswith("cpu")


class TorchDeviceMemory(capabilities.DeviceMemory):
    """Memory by PyTorch's allocators."""

    available = staticmethod(free_memory)
    measure = staticmethod(measure)

    def keeps_workspace(self, device: str) -> bool:
        # cuBLAS has one workspace for all calls of a process.
        return not device.startswith("cpu")


class TorchBuildInfo(capabilities.BuildInfo):
    """The installed PyTorch."""

    private_names = private
    unavailable = messages.UNAVAILABLE

    def versions(self) -> dict[str, str]:
        found = {"torch": self.framework.version(), "cuda": torch.version.cuda or ""}
        if torch.backends.cudnn.is_available():
            found["cudnn"] = str(torch.backends.cudnn.version())
        return {name: version for name, version in found.items() if version}

    def features(self) -> dict[str, bool]:
        level = torch.backends.cpu.get_cpu_capability()
        return {
            "cuda": torch.backends.cuda.is_built(),
            "mkldnn": torch.backends.mkldnn.is_available(),
            "mkl": torch.backends.mkl.is_available(),
            "openmp": torch.backends.openmp.is_available(),
            f"capability {level}": True,
        }

    def commit(self) -> str:
        return str(torch.version.git_version or "")


class TorchProcesses(capabilities.Processes):
    """Threads, options and random numbers of a process."""

    # Folders of its compiler, which it would look in anyway.
    own_variables = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    parts = options.PARTS
    option = staticmethod(options.option)
    numerics = staticmethod(options.numerics)
    threads = staticmethod(torch.get_num_threads)

    def seed(self, seed: int) -> None:
        if len(devices()) > 1:
            torch.manual_seed(seed)
        else:
            # That formats the stack for each kind of device that might be initialised later.
            torch.default_generator.manual_seed(seed)

    def random_state(self, device: str) -> object:
        states = [torch.get_rng_state()]
        kind = torch_device(device).type
        if kind not in ("cpu", "meta"):
            states.append(torch.get_device_module(kind).get_rng_state(torch_device(device)))
        return [state.tolist() for state in states]

    def supports_fork(self, device: str) -> bool:
        # OpenMP's threads, which the first parallel operator starts, are not in a fork: it would
        # wait for them without end. CUDA cannot be used in a fork once its driver was called.
        return device.startswith("cpu")

    def prepare_forks(self, rehearsed: bool) -> None:
        if rehearsed:
            private.import_early(private.OF_GRADIENTS)
            return
        private.import_early(private.OF_TENSORS)
        # Its first inference of a shape takes longer than the others, too.
        torch.add(*[torch.empty(1, device=tensors.META)] * 2)

    def set_threads(self, count: int) -> None:
        torch.set_num_threads(count)


class TorchProfilers(capabilities.Profilers):
    """Kineto, and counts by PyTorch's formulas."""

    tracing = staticmethod(tracing)
    ranges = staticmethod(ranges)
    call_flops = staticmethod(flops.call_flops)
    counting = staticmethod(flops.counting)

    def own(self) -> Mapping[str, ProfilerFactory]:
        return {"native": NativeProfiler}
