"""Events, the flush of the L2, and exhausted memory, without a GPU."""

import contextlib
import re
import types
import weakref

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import UnsupportedError  # noqa: E402  (torch may be missing)
from opperf.frameworks.torch import devices  # noqa: E402
from opperf.frameworks.torch.gradient import RecordedGradient  # noqa: E402

L2_BYTES = 1000
UUID = "2f1a3c4e-0000-1111-2222-333344445555"


class FakeEvent:
    """An event that is reached at the times of a list; both are made first, which records them."""

    times_ms = [0.0, 0.0, 2.5, 4.0]
    recorded = 0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self, stream):
        assert stream == "stream of cuda:1"
        self.ms = self.times_ms[FakeEvent.recorded]
        FakeEvent.recorded += 1

    def elapsed_time(self, later):
        return later.ms - self.ms


@pytest.fixture
def gpu(monkeypatch):
    """A CUDA device whose tensors are on the CPU."""
    properties = types.SimpleNamespace(L2_cache_size=L2_BYTES, uuid=UUID)
    zeros = torch.zeros
    monkeypatch.setattr(torch.cuda, "Event", FakeEvent)
    monkeypatch.setattr(FakeEvent, "recorded", 0)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"stream of {device}")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch, "zeros", lambda *shape, device, **options: zeros(*shape, **options))
    return properties


def test_the_time_between_two_events(gpu):
    first, second = devices.event("gpu(1)"), devices.event("gpu(1)")
    first.record()
    second.record()
    assert second.elapsed_ns(first) == pytest.approx(1.5e6)


def test_an_event_is_made_before_it_is_timed(gpu):
    devices.event("gpu(1)")
    assert FakeEvent.recorded == 1


def test_a_gpu_has_the_uuid_of_its_properties(gpu, monkeypatch):
    assert devices.uuid("gpu(1)") == f"GPU-{UUID}"
    assert devices.uuid("cpu(0)") == devices.uuid("mps(0)") == ""
    # One of AMD, which NVIDIA's library does not know.
    monkeypatch.setattr(torch.version, "hip", "6.0")
    assert devices.uuid("gpu(1)") == ""


def test_an_empty_kernel_writes_one_element(gpu):
    kernel = devices.empty_kernel("gpu(0)")
    kernel()
    assert kernel().tolist() == [2]
    assert devices.empty_kernel("cpu(0)") is None


def test_a_cpu_has_no_events():
    assert not devices.has_events("cpu(0)")
    with pytest.raises(UnsupportedError, match="has no events; use --profiler python"):
        devices.event("cpu(0)")


def test_a_buffer_of_twice_the_l2_is_written(gpu):
    flush = devices.cache_flush("gpu(0)")
    flush()
    buffer = flush()
    assert buffer.nbytes == 2 * L2_BYTES
    assert buffer.eq(2).all()


def test_opperf_flushes_other_devices(gpu):
    assert devices.cache_flush("cpu(0)") is None
    gpu.L2_cache_size = 0
    assert devices.cache_flush("gpu(0)") is None


MESSAGE = (
    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 16.00 GiB of "
    "which 1.00 GiB is free. Process 7 has 15.00 GiB memory in use."
)


def test_exhausted_memory_is_unsupported_and_returned(monkeypatch):
    held = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: held.append(tensor()))

    def fail():
        nonlocal tensor
        large = torch.ones(3)
        tensor = weakref.ref(large)
        raise torch.OutOfMemoryError(MESSAGE)

    tensor = None
    wanted = r"^CUDA out of memory. Tried to allocate 20.00 GiB on gpu\(0\); use a smaller"
    with pytest.raises(UnsupportedError, match=wanted), devices.skip_out_of_memory("gpu(0)"):
        fail()
    # No tensor was left when the memory was returned.
    assert held == [None]


@pytest.mark.parametrize(
    "message",
    [
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ],
)
def test_memory_that_the_driver_or_cublas_lacks_is_unsupported_too(message, monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    wanted = re.escape(message.split("\n")[0]) + r" on gpu\(0\); use"
    with pytest.raises(UnsupportedError, match=wanted), devices.skip_out_of_memory("gpu(0)"):
        raise RuntimeError(message)


def test_exhausted_memory_in_a_backward_pass_is_no_missing_gradient():
    class Exhausting(torch.autograd.Function):
        @staticmethod
        def forward(context, data):
            return data.clone()

        @staticmethod
        def backward(context, head):
            raise torch.OutOfMemoryError(MESSAGE)

    data = torch.ones(3)
    with (
        pytest.raises(UnsupportedError, match="out of memory"),
        devices.skip_out_of_memory("cpu(0)"),
    ):
        RecordedGradient(lambda: Exhausting.apply(data), [data])


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="refused"), devices.skip_out_of_memory("gpu(0)"):
        raise RuntimeError("refused")
