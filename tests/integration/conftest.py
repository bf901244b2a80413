"""What the tests that run real MXNet share: short ways to measure one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import opperf  # noqa: F401  (restores what MXNet needs of NumPy, before a test imports MXNet)
from opperf.frameworks import Framework
from opperf.model import Case, OperatorTarget, Record, Settings
from opperf.runner.measure import measure
from opperf.runner.plan import Selection, plan
from opperf.utils.benchmark_utils import mxnet, run_performance_test, settings_for
from opperf.utils.inputs import CaseBuilder

RUNS = 3


@pytest.fixture(scope="session")
def framework() -> Framework:
    return mxnet()


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path, monkeypatch):
    """Every test runs in an empty folder, which must be as empty afterwards."""
    monkeypatch.chdir(tmp_path)
    yield
    left = [path.name for path in tmp_path.iterdir() if "profile" in path.name]
    assert left == []


@pytest.fixture
def result() -> Callable[..., dict[str, Any]]:
    """The one result of one call on one set of inputs."""

    def measured(function: Callable[..., Any], inputs: Mapping[str, Any], **options: Any) -> Any:
        options = {"warmup": 1, "runs": RUNS} | options
        (by_name,) = run_performance_test(function, inputs=[inputs], **options)
        ((one,),) = by_name.values()
        return one

    return measured


@pytest.fixture
def record(framework: Framework) -> Callable[..., Record]:
    """The record of one call, with what a result does not show."""

    def measured(
        function: Callable[..., Any], inputs: Mapping[str, Any], dtype: str = "float32",
        profiler: str = "native", warmup: int = 1, runs: int = RUNS,
        run_backward: bool = True,
    ) -> Record:
        settings = settings_for(framework, None, dtype, profiler, warmup, runs)
        builder = CaseBuilder(
            framework, function, framework.target_of(function), settings, run_backward)
        return measure(builder.case(inputs), framework, builder.bound)

    return measured


@pytest.fixture
def cases(framework: Framework) -> Callable[..., tuple[Case, ...]]:
    """The cases that the rules make for an operator."""

    def planned(name: str, size: str = "small", **settings: Any) -> tuple[Case, ...]:
        return plan(framework, Selection(
            patterns=(name,), size=size,
            settings=Settings(warmup=0, runs=RUNS, **settings))).cases

    return planned


@pytest.fixture
def outputs(framework: Framework) -> Callable[[Case], list[np.ndarray]]:
    """What a case's call gives, as NumPy arrays."""

    def called(case: Case) -> list[np.ndarray]:
        def made(value: Any) -> Any:
            if isinstance(value, tuple) and any(hasattr(one, "fill") for one in value):
                return [made(one) for one in value]
            if hasattr(value, "fill"):
                return framework.tensor(value, case.settings.device, case.settings.seed)
            return value

        assert isinstance(case.target, OperatorTarget)
        with framework.scope(case):
            call = framework.bind(case, {n: made(v) for n, v in case.arguments.items()})
            given = call()
            framework.synchronize(case.settings.device)
        return [one.asnumpy() for one in (given if isinstance(given, (list, tuple)) else [given])]

    return called
