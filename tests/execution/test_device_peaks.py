"""The peaks of devices: which products are measured, what is the best of several frameworks, and a
real measurement by NumPy."""

import pytest

from opperf.execution import device_peaks as module
from opperf.execution.device_peaks import best_product, measure_peaks, merge
from opperf.frameworks import is_available
from opperf.model import BandwidthPeak, DispatchPeak, Peaks, ProductPeak
from opperf.worker.client import Worker

EXTENTS = (128, 256, 512)


@pytest.mark.parametrize(
    "times, best, asked",
    [
        # Operations per nanosecond: 4.2, 8.4, 6.7.
        ({128: [1e6], 256: [4e6], 512: [4e7] * 3}, (256, 4e6), [1, 1, 3]),
        # The next would take eight times as long, more than the limit.
        ({128: [3e7, 2e7, 4e7]}, (128, 2e7), [3]),
        ({128: [3e7, 1e6], 256: [1e8] * 3}, (128, 1e6), [2, 3]),
        ({128: [1e6], 256: [None]}, (128, 1e6), [1, 1]),
        ({128: [None]}, None, [1]),
    ],
)
def test_larger_products_are_measured_until_one_takes_long_or_is_refused(times, best, asked):
    left = {extent: iter(each) for extent, each in times.items()}
    made = []

    def measure(extent):
        made.append(extent)
        return next(left[extent])

    expected = None if best is None else (2e9 * best[0] ** 3 / best[1], best[0])
    assert best_product(measure, EXTENTS) == expected
    assert [made.count(extent) for extent in times] == asked


def product(dtype, threads, rate, by="a"):
    return ProductPeak(dtype=dtype, threads=threads, rate=rate, by=by)


def moved(kernel, rate, by="a"):
    return BandwidthPeak(level="memory", kernel=kernel, threads=0, bytes=0, rate=rate, by=by)


def reached(device, bandwidths=(), products=(), dispatches=(), measured="now"):
    return Peaks(
        device=device,
        measured=measured,
        bandwidths=tuple(bandwidths),
        products=tuple(products),
        dispatches=tuple(dispatches),
    )


def test_of_several_frameworks_the_best_counts_and_each_has_its_dispatch():
    calls = [DispatchPeak(framework=name, ns=ns) for name, ns in (("a", 3.0), ("b", 2.0))]
    one = reached(
        "gpu(0)",
        [moved("copy", 2.0), moved("read", 1.0)],
        [product("int8", 2, 9.0), product("float32", 2, 5.0)],
        calls[:1],
    )
    other = reached(
        "gpu(0)",
        [moved("copy", 1.0)],
        [product("float32", 2, 6.0, "b"), product("float32", 1, 4.0, "b")],
        calls[1:],
    )
    assert merge([one, other], print) == Peaks(
        device="gpu(0)",
        measured="now",
        bandwidths=(moved("copy", 2.0), moved("read", 1.0)),
        products=(
            product("float32", 1, 4.0, "b"),
            product("float32", 2, 6.0, "b"),
            product("int8", 2, 9.0),
        ),
        dispatches=tuple(calls),
    )


def test_products_whose_threads_waited_are_no_peaks():
    made = [product("float32", 1, 10.0), product("float32", 2, 8.9), product("int8", 2, 1.0)]
    said = []
    found = merge([reached("cpu(0)", products=made)], said.append)
    assert [(one.dtype, one.threads) for one in found.products] == [("float32", 1), ("int8", 2)]
    assert len(said) == 1 and said[0].startswith("float32 with 2 threads is omitted")


def test_what_other_frameworks_and_devices_had_before_remains(monkeypatch):
    monkeypatch.setattr(module, "measure_bandwidths", lambda usable, say: (moved("copy", 5.0, ""),))
    made = {
        "cpu(0)": ([], [product("float32", 1, 5.0, "numpy 2.1, 256")], [("numpy", 3.0)]),
        "gpu(0)": ([moved("copy", 1.0, "numpy 2.1")], [], [("numpy", 9.0)]),
    }

    def measure(framework, cores, say):
        for device, (bandwidths, products, calls) in made.items():
            named = [DispatchPeak(framework=name, ns=ns) for name, ns in calls]
            yield reached(device, bandwidths, products, named)

    monkeypatch.setattr(module, "measure_framework", measure)
    calls = [DispatchPeak(framework=name, ns=7.0) for name in ("numpy", "torch")]
    earlier = [
        reached(
            "cpu(0)",
            # Neither is another framework's: of cores, and of the one that is measured again.
            [moved("copy", 50.0, "")],
            [product("float32", 1, 50.0, "numpy 2.0, 512"), product("int8", 1, 4.0, "torch 2, 64")],
            calls,
            "before",
        ),
        reached("gpu(0)", [moved("copy", 2.0, "torch 2"), moved("read", 9.0, "numpy 2.0")]),
        reached("gpu(1)", [moved("copy", 3.0, "numpy 2.0")], measured="before"),
    ]
    cores, first, second = measure_peaks(["numpy"], frozenset({0}), print, earlier)
    assert cores.measured != "before" and [one.rate for one in cores.bandwidths] == [5.0]
    assert [(one.dtype, one.by) for one in cores.products] == [
        ("float32", "numpy 2.1, 256"),
        ("int8", "torch 2, 64"),
    ]
    assert {one.framework: one.ns for one in cores.dispatches} == {"numpy": 3.0, "torch": 7.0}
    assert first.bandwidths == (moved("copy", 2.0, "torch 2"),)
    assert second == earlier[-1]


def test_numpy_multiplies_and_adds_and_what_it_lacks_is_said(monkeypatch):
    monkeypatch.setattr(module, "measure_bandwidths", lambda usable, say: ())
    monkeypatch.setattr(module, "EXTENTS", (128,))
    monkeypatch.setattr(module, "DTYPES", ("float32", "bfloat16"))
    said = []
    (found,) = measure_peaks(["numpy", "no_such_framework"], frozenset({0}), said.append)
    ((dtype, threads, rate, by),) = (
        (one.dtype, one.threads, one.rate, one.by) for one in found.products
    )
    assert (found.device, dtype, threads) == ("cpu(0)", "float32", 1) and rate > 0
    assert by.startswith("numpy ") and by.endswith(", 128")
    (call,) = found.dispatches
    assert call.framework == "numpy" and call.ns > 0
    assert said[0] == "numpy: float32, bfloat16 on cpu(0), 1 thread"
    assert said[1].startswith("numpy: no product of bfloat16 on cpu(0): unknown dtype 'bfloat16'")
    assert said[2].startswith("no_such_framework is omitted: ")


def test_of_another_device_than_the_cores_the_memory_is_measured_too(monkeypatch):
    monkeypatch.setattr(module, "measure_bandwidths", lambda usable, say: ())
    for name, value in (("CPU", "none"), ("EXTENTS", (128,)), ("GPU_BYTES", 2**12)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "DTYPES", ("float32",))
    said = []
    _, found = measure_peaks(["numpy"], frozenset({0}), said.append)
    assert said == ["numpy: float32 on cpu(0)"] and found.device == "cpu(0)"
    assert [(one.level, one.kernel, one.threads) for one in found.bandwidths] == [
        ("memory", kernel, 0) for kernel in ("copy", "triad", "read")
    ]
    assert all(one.rate > 0 and one.by.startswith("numpy ") for one in found.bandwidths)
    assert [one.threads for one in found.products] == [0] and len(found.dispatches) == 1


@pytest.mark.parametrize("framework", ["numpy", "jax"])
def test_a_dtype_is_that_of_the_matrices(framework, monkeypatch):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    measure, seen = Worker.measure, []

    def watched(self, case):
        seen.append(case)
        return measure(self, case)

    monkeypatch.setattr(Worker, "measure", watched)
    monkeypatch.setattr(module, "EXTENTS", (128,))
    monkeypatch.setattr(module, "DTYPES", ("float64",))
    (reached,) = module.measure_framework(framework, 1, lambda line: None)
    assert [one.dtype for one in reached.products] == ["float64"]
    assert [(spec.shape, spec.dtype) for _, spec in seen[0].tensors()] == [
        ((128, 128), "float64")
    ] * 2
