"""Times, memory and events on a GPU, run by `benchmarks/timers/gpu_check.sh` where there is one."""

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import UnsupportedError  # noqa: E402  (torch may be missing)
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import devices  # noqa: E402
from opperf.frameworks.torch.kineto import NativeProfiler  # noqa: E402
from opperf.frameworks.torch.memory import measure  # noqa: E402
from opperf.instruments.profilers import profiler  # noqa: E402
from opperf.instruments.profilers.reference_work import LAUNCH_BOUND, launch_ns  # noqa: E402
from opperf.machine.gpus import find_gpu  # noqa: E402
from opperf.model import Case, Fill, OperatorTarget, Settings, Status, TensorSpec  # noqa: E402
from opperf.worker.client import Worker  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU here"),
]

GPU = "gpu(0)"
BLOCK = 512
"""The caching allocator rounds to blocks of these bytes."""


def test_both_names_are_one_device():
    assert devices.parse("cuda:0") == devices.parse("gpu") == GPU


def test_kernels_are_recorded_for_each_phase():
    data = torch.rand(512, 512, device="cuda", requires_grad=True)
    head = torch.ones(512, 512, device="cuda")
    outputs = []

    def forward():
        outputs[:] = [torch.exp(data)]

    def backward():
        return torch.autograd.grad(outputs, [data], [head])

    first, second = NativeProfiler(GPU).trace([forward, backward], 10)
    for phase in (first, second):
        assert len(phase.times) == 10 and min(phase.times) > 0
        assert all(time <= wall for time, wall in zip(phase.times, phase.walls, strict=True))


def test_copies_and_fills_count():
    data = torch.rand(1 << 20, device="cuda")
    other = torch.empty_like(data)
    copied, filled = NativeProfiler(GPU).trace([lambda: other.copy_(data), other.zero_], 5)
    assert min(copied.times) > 0 and min(filled.times) > 0


def test_a_view_runs_no_kernel():
    data = torch.rand(16, 16, device="cuda")
    (timed,) = NativeProfiler(GPU).trace([data.t], 5)
    assert timed.times == [] and len(timed.walls) == 5


def test_events_measure_a_kernel():
    data = torch.rand(2048, 2048, device="cuda")
    before, after = devices.event(GPU), devices.event(GPU)
    before.record()
    data @ data
    after.record()
    devices.synchronize(GPU)
    assert after.elapsed_ns(before) > 0


def test_the_flush_writes_twice_the_l2():
    buffer = devices.cache_flush(GPU)()
    devices.synchronize(GPU)
    assert buffer.nbytes == 2 * torch.cuda.get_device_properties(0).L2_cache_size


def test_the_peak_of_nested_contexts():
    with measure(GPU) as whole:
        kept = torch.empty(10 * BLOCK, dtype=torch.uint8, device="cuda")
        with measure(GPU) as inner:
            torch.empty(3 * BLOCK - 1, dtype=torch.uint8, device="cuda")
    assert (whole.peak_bytes, whole.kept_bytes) == (13 * BLOCK, 10 * BLOCK)
    assert (inner.peak_bytes, inner.kept_bytes) == (3 * BLOCK, 0)
    assert whole.reserved_bytes >= whole.peak_bytes
    del kept


def test_the_device_is_usable_after_its_memory_ran_out():
    total = torch.cuda.get_device_properties(0).total_memory
    with pytest.raises(UnsupportedError, match="out of memory"), devices.skip_out_of_memory(GPU):
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_nvidias_library_knows_the_device_by_its_uuid():
    pytest.importorskip("pynvml")
    reading = find_gpu(devices.uuid(GPU)).read()
    assert reading.clock_mhz > 0 and reading.temperature_c > 0


@pytest.mark.parametrize("name", ["native", "python", "events"])
def test_a_large_product_takes_longer_than_an_empty_kernel(name):
    framework, data = load("torch"), torch.rand(4096, 4096, device="cuda")
    timer = profiler(name, framework, GPU)
    (timed,) = timer.trace([lambda: data @ data], 5)
    assert min(timed.times) > LAUNCH_BOUND * launch_ns(framework, GPU, name, timer, queued=False)


def test_a_fault_of_a_kernel_costs_one_case():
    def case(index):
        # An index that is out of range fails in the kernel, and the device with it.
        indices = TensorSpec((1,), "int64", Fill("literal", data=[index]))
        arguments = {"self": TensorSpec((4,)), "dim": 0, "index": indices}
        settings = Settings(device=GPU, warmup=1, runs=3)
        target = OperatorTarget("torch", "index_select", overload="default")
        return Case(target, arguments, settings, passes=("forward",))

    with Worker("torch") as worker:
        assert worker.measure(case(3)).status is Status.OK
        faulty = worker.measure(case(99))
        assert faulty.status is Status.CRASHED and "cannot be used" in faulty.reason
        assert worker.measure(case(2)).status is Status.OK
