"""The parts of a CUDA device beyond those of a CPU: a UUID, launches, events, an L2 cache, and
memory that runs out."""

from __future__ import annotations

import gc
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from opperf.errors import UnsupportedError, one_line
from opperf.frameworks.nvtx_ranges import Ranges, package_ranges
from opperf.frameworks.timing import Event
from opperf.frameworks.torch.devices import torch_device
from opperf.frameworks.torch.messages import NOISE

NS_PER_MS = 1e6


def uuid(device: str) -> str:
    """Returns the UUID of an NVIDIA GPU as its management library writes it; empty for any other
    device."""
    target = torch_device(device)
    # A GPU of AMD is a CUDA device to PyTorch, too.
    if target.type != "cuda" or torch.version.hip:
        return ""
    return f"GPU-{torch.cuda.get_device_properties(target).uuid}"


def empty_kernel(device: str) -> Callable[[], object] | None:
    """Returns a callable that launches a kernel on one element; None for a CPU."""
    target = torch_device(device)
    if target.type == "cpu":
        return None
    element = torch.zeros(1, device=target)
    # In place, so that no allocation adds to the launch.
    return partial(element.add_, 1)


def has_events(device: str) -> bool:
    """Whether the device has events."""
    return torch_device(device).type == "cuda"


def ranges() -> Ranges | None:
    """Returns NVTX ranges by PyTorch, or by the package `nvtx` where the build has none; None
    without either."""
    return _ranged if torch.backends.cuda.is_built() or torch.version.hip else package_ranges()


@contextmanager
def _ranged(name: str) -> Iterator[None]:
    started = torch.cuda.nvtx.range_start(name)
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_end(started)


def event(device: str) -> CudaEvent:
    """Returns a new event for the device's current stream. Raises `UnsupportedError`."""
    if not has_events(device):
        raise UnsupportedError(f"{device} has no events; use --profiler python")
    return CudaEvent(torch_device(device))


class CudaEvent:
    """An event of a CUDA stream."""

    resolution_ns = 500.0
    """Of `cudaEventElapsedTime`, by its documentation."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        make: Callable[..., Any] = torch.cuda.Event
        with torch.cuda.device(device):
            self._event = make(enable_timing=True)
        # PyTorch makes the driver's event when it is first recorded, which would delay the calls
        # that are timed.
        self.record()

    def record(self) -> None:
        """Puts the event at the end of the stream, without waiting."""
        self._event.record(torch.cuda.current_stream(self._device))

    def elapsed_ns(self, earlier: Event) -> float:
        """Returns the nanoseconds on the device since an earlier event."""
        assert isinstance(earlier, CudaEvent)
        return float(earlier._event.elapsed_time(self._event)) * NS_PER_MS


FLUSHED = 2
"""Size of the buffer that flushes the L2, in sizes of the cache: its replacement is not strictly by
age, and leaves some lines after one pass over its own size."""


def cache_flush(device: str) -> Callable[[], object] | None:
    """Returns a callable that overwrites the device's L2 cache; None if it does not report one."""
    target = torch_device(device)
    if target.type != "cuda":
        return None
    size = torch.cuda.get_device_properties(target).L2_cache_size
    if not size:
        return None
    buffer = torch.zeros(FLUSHED * size, dtype=torch.uint8, device=target)
    # A kernel that reads and writes each byte. The driver may fill memory by other means.
    return partial(buffer.add_, 1)


OUT_OF_MEMORY = re.compile(
    "CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|MPS backend out of memory"
)
"""Messages about exhausted memory of errors that are no `OutOfMemoryError`: the driver's, which
allocates for kernels that it loads, and those of cuBLAS and MPS."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that the memory of a device ran out."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and bool(OUT_OF_MEMORY.search(str(error)))


@contextmanager
def skip_out_of_memory(device: str) -> Iterator[None]:
    """Raises `UnsupportedError` if the device's memory runs out inside the context, and returns
    the memory to the device, so that later cases and other processes can use it."""
    try:
        yield
        return
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        # "CUDA out of memory. Tried to allocate 2.00 GiB." Later sentences are about the process.
        message = one_line(". ".join(NOISE.split(str(error))[0].split(". ")[:2]))
        # The caller keeps the error, and its frames hold the tensors of the call.
        traceback.clear_frames(error.__traceback__)
    gc.collect()
    if torch_device(device).type == "cuda":
        torch.cuda.empty_cache()
    raise UnsupportedError(f"{message.rstrip('.')} on {device}; use a smaller --size or --dtype")
