"""What pytest-benchmark is told: statistics by their definitions, options, the machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from opperf.formats.exporting import export_of
from opperf.formats.pytest_benchmark import write
from opperf.model import Record, Run, Settings

MakeRecord = Callable[..., Record]

Benchmark = Callable[..., dict[str, Any]]


@pytest.fixture
def benchmark_of(run: Run, make_record: MakeRecord) -> Benchmark:
    """The benchmark of a case with these samples, in seconds, settings and other summaries."""

    def made(*seconds: float, loops: int = 1, settings: Any = None, **summaries: Any) -> Any:
        forward = msgspec.structs.replace(make_record().summaries["forward"], loops=loops)
        record = make_record(summaries={"forward": forward, **summaries})
        case = msgspec.structs.replace(record.case, settings=settings or Settings())
        record = msgspec.structs.replace(
            record, case=case, samples={"forward": [second * 1e9 for second in seconds]}
        )
        content, _ = write(export_of(msgspec.structs.replace(run, records=(record,))))
        (benchmark,) = content["benchmarks"]
        return benchmark

    return made


def test_statistics_are_what_their_names_say(benchmark_of: Benchmark) -> None:
    # In order 2, 4, 4, 4, 5, 5, 7, 9: the squares of their differences from 5 add up to 32.
    stats = benchmark_of(7.0, 4.0, 2.0, 4.0, 9.0, 4.0, 5.0, 5.0, loops=3)["stats"]
    assert stats.pop("data") == pytest.approx([7.0, 4.0, 2.0, 4.0, 9.0, 4.0, 5.0, 5.0])
    assert stats.pop("outliers") == "2;1"
    assert stats == pytest.approx(
        {
            "min": 2.0,
            "max": 9.0,
            "mean": 5.0,
            "stddev": math.sqrt(32 / 7),
            "rounds": 8,
            "median": 4.5,
            # A quarter and three quarters of the way from the first to the last of eight.
            "q1": 4.0,
            "q3": 5.5,
            "iqr": 1.5,
            # 9 is beyond 5.5 and one and a half times 1.5; 2 is not below 4 less as much.
            "iqr_outliers": 1,
            "ld15iqr": 2.0,
            "hd15iqr": 7.0,
            # 2 and 9 are more than a standard deviation, 2.14, from 5; 7 is 2 from it.
            "stddev_outliers": 2,
            "ops": 0.2,
            "total": 40.0,
            "iterations": 3,
        }
    )


def test_what_is_on_a_fence_is_not_beyond_it(benchmark_of: Benchmark) -> None:
    # Quartiles of 4 and 8, fences at -2 and 14.
    stats = benchmark_of(0.0, 4.0, 4.0, 8.0, 14.0)["stats"]
    assert (stats["q1"], stats["q3"]) == pytest.approx((4.0, 8.0))
    assert (stats["iqr_outliers"], stats["hd15iqr"]) == (0, pytest.approx(14.0))
    stats = benchmark_of(0.0, 4.0, 4.0, 8.0, 14.1)["stats"]
    assert (stats["iqr_outliers"], stats["hd15iqr"]) == (1, pytest.approx(8.0))
    # Quartiles of 10 and 12, the lower fence at 7.
    stats = benchmark_of(6.9, 10.0, 11.0, 12.0, 13.0)["stats"]
    assert (stats["iqr_outliers"], stats["ld15iqr"]) == (1, pytest.approx(10.0))
    stats = benchmark_of(7.1, 10.0, 11.0, 12.0, 13.0)["stats"]
    assert (stats["iqr_outliers"], stats["ld15iqr"]) == (0, pytest.approx(7.1))


def test_two_samples_have_a_spread_and_one_has_none(benchmark_of: Benchmark) -> None:
    two = benchmark_of(1.0, 3.0)["stats"]
    assert (two["stddev"], two["q1"], two["q3"]) == pytest.approx((math.sqrt(2), 1.5, 2.5))
    assert two["stddev_outliers"] == 0
    one = benchmark_of(2.0)["stats"]
    assert [one[name] for name in ("q1", "median", "q3")] == pytest.approx([2.0] * 3)
    assert (one["stddev"], one["iqr"], one["outliers"]) == (0.0, 0.0, "0;0")


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (Settings(), {"min_rounds": 1, "max_time": 300.0, "warmup": True}),
        (
            Settings(runs=7, max_time_s=2.0, warmup=0, profiler="python"),
            {"min_rounds": 7, "max_time": 2.0, "warmup": False, "timer": "python"},
        ),
        (Settings(warmup=3), {"warmup": True, "timer": "native"}),
    ],
)
def test_options_are_the_settings(
    benchmark_of: Benchmark, settings: Settings, options: dict[str, Any]
) -> None:
    told = benchmark_of(1.0, settings=settings)["options"]
    assert {name: told[name] for name in options} == options
    assert (told["disable_gc"], told["min_time"]) == (False, 0.0)


def test_memory_that_is_not_known_is_none(benchmark_of: Benchmark, make_record: MakeRecord) -> None:
    memory = make_record().summaries["memory"]
    assert benchmark_of(1.0, memory=memory)["extra_info"]["memory_bytes"] == 4194304.0
    odd = msgspec.structs.replace(memory, median=math.nan)
    assert benchmark_of(1.0, memory=odd)["extra_info"]["memory_bytes"] is None
    assert benchmark_of(1.0)["extra_info"]["memory_bytes"] is None


def test_the_machine_is_the_environments(run: Run, make_record: MakeRecord) -> None:
    environment = msgspec.structs.replace(run.environment, platform="Linux-6.1.0-x86_64")
    environments = {environment.id: environment}
    record = msgspec.structs.replace(make_record(), samples={"forward": [1.0]})
    changed = msgspec.structs.replace(run, environments=environments, records=(record,))
    content, _ = write(export_of(changed))
    machine = content["machine_info"]
    assert (machine["system"], machine["release"]) == ("Linux", "6.1.0-x86_64")
    assert machine["cpu"] == {"brand_raw": "A | B", "count": 2}
    assert content["commit_info"]["dirty"] is False


def test_passes_without_samples_are_counted(run: Run, make_record: MakeRecord) -> None:
    record = make_record()
    samples = {"forward": [1.0, 2.0], "backward": [1.0, math.nan]}
    sampled = msgspec.structs.replace(record, samples=samples)
    content, warnings = write(export_of(msgspec.structs.replace(run, records=(sampled,))))
    assert [benchmark["group"] for benchmark in content["benchmarks"]] == ["relu.forward"]
    assert warnings == ["excluded: 1 time without samples"]
    sampled = msgspec.structs.replace(record, samples={**samples, "backward": [1.0]})
    content, warnings = write(export_of(msgspec.structs.replace(run, records=(sampled,))))
    assert len(content["benchmarks"]) == 2 and warnings == []
