"""PyTorch's devices and dtypes by opperf's names: `gpu(0)` is `cuda:0`. Also what CUDA devices have
beyond a CPU: UUID, launches, events, an L2 cache, and memory that runs out."""

from __future__ import annotations

import gc
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psutil
import torch

from opperf.errors import DeviceError, UnsupportedError, UsageError, one_line
from opperf.frameworks.base import CPU
from opperf.frameworks.capabilities import Ranges, package_ranges
from opperf.frameworks.timing import Event
from opperf.frameworks.torch import xla
from opperf.frameworks.torch.messages import NOISE

NAME = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<inside>\d+)\)|:(?P<after>\d+))?")
"""`gpu`, `gpu(0)`, `cuda:0`."""

KINDS = {
    "cpu": "cpu",
    "gpu": "cuda",
    "cuda": "cuda",
    "mps": "mps",
    "xpu": "xpu",
    "tpu": "tpu",
    "meta": "meta",
}

SHOWN = {"cuda": "gpu"}
"""opperf's name of a type of device, where it is another."""


def _count(kind: str) -> int:
    if kind == "cuda":
        return torch.cuda.device_count()
    if kind == "xpu":
        return torch.xpu.device_count()
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    if kind == "tpu":
        return int(xla.has_tpu())
    return 1 if kind == "cpu" else 0


def devices() -> tuple[str, ...]:
    """Returns the devices of this build and machine, the CPU first."""
    return tuple(
        f"{SHOWN.get(kind, kind)}({index})"
        for kind in dict.fromkeys(KINDS.values())
        for index in range(_count(kind))
    )


def _split(text: str) -> tuple[str, int]:
    match = NAME.fullmatch(text.strip().lower())
    if match is None or match["kind"] not in KINDS or match["kind"] == "meta":
        raise UsageError(f"unknown device {text!r}; use one of {', '.join(devices())}")
    return KINDS[match["kind"]], int(match["inside"] or match["after"] or 0)


def parse(text: str) -> str:
    """Returns the canonical name of a device. Raises as `Core.parse_device`."""
    kind, index = _split(text)
    name = f"{SHOWN.get(kind, kind)}({index})"
    if kind == "cpu":
        return CPU
    if index >= _count(kind):
        known = ", ".join(devices())
        raise DeviceError(
            f"{text}: this build of PyTorch ({torch.__version__}) finds {known} on this machine; "
            "use one of these",
            name,
        )
    return name


def type_of(name: str) -> str:
    """Returns PyTorch's type of a canonical name: `cuda` of `gpu(0)`."""
    return _split(name)[0]


def torch_device(name: str) -> torch.device:
    """Returns PyTorch's object of a canonical name."""
    if name == "meta":
        return torch.device(name)
    kind, index = _split(name)
    if kind == "tpu":
        return xla.device(kind)
    return torch.device(kind) if kind == "cpu" else torch.device(kind, index)


def free_memory(device: str) -> int:
    """Returns the number of bytes that can still be allocated on a device."""
    kind, index = _split(device)
    if kind == "cuda":
        free, _ = torch.cuda.mem_get_info(index)
        # The caching allocator reuses what it has reserved.
        return free + torch.cuda.memory_reserved(index) - torch.cuda.memory_allocated(index)
    return int(psutil.virtual_memory().available)


def synchronize(device: str) -> None:
    """Waits until a device's work is done."""
    if xla.is_in_use():
        xla.wait()
        return
    if device == CPU:
        # Reading the name would take a fifth of the time of the shortest calls.
        return
    kind, index = _split(device)
    if kind == "cuda":
        torch.cuda.synchronize(index)
    elif kind == "xpu":
        torch.xpu.synchronize(index)
    elif kind == "mps":
        torch.mps.synchronize()


DTYPES = tuple(
    name
    for name in (
        *("float32", "float64", "float16", "bfloat16"),
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
        "float4_e2m1fn_x2",
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("bool", "complex64", "complex128", "complex32", "quint8", "qint8", "qint32"),
    )
    if hasattr(torch, name)
)


def dtype_of(name: str) -> torch.dtype:
    """Returns the dtype of a name. Raises `UnsupportedError` if this build has none."""
    if name not in DTYPES:
        raise UnsupportedError(f"PyTorch {torch.__version__} has no dtype {name}")
    found: torch.dtype = getattr(torch, name)
    return found


def name_of(dtype: torch.dtype) -> str:
    """Returns the name of a dtype."""
    return str(dtype).removeprefix("torch.")


NS_PER_MS = 1e6


def uuid(device: str) -> str:
    """Returns the UUID of an NVIDIA GPU; empty for any other device."""
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
    """Returns NVTX ranges by PyTorch, or else by the package `nvtx`; None without either."""
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
        self._event.record(torch.cuda.current_stream(self._device))

    def elapsed_ns(self, earlier: Event) -> float:
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
    """Raises `UnsupportedError` if the device's memory runs out inside the context, and returns the
    memory to the device, for later cases and other processes."""
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
