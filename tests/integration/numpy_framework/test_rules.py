"""What the rules make for NumPy's registry: shapes, sizes, scripts."""

import warnings
from collections import Counter

import numpy as np
import pytest

from opperf.dtypes import kind_of
from opperf.frameworks import load
from opperf.frameworks.numpy.tensors import arrays
from opperf.instruments.peaks import GIB, estimated_bytes
from opperf.instruments.prepared import PreparedCase
from opperf.model import Settings, Status
from opperf.rules.engine import rules_module
from opperf.rules.sizes import PRESETS
from opperf.sources.registry import Selection, plan
from opperf.worker.measure import measure
from tests.script_tensors import assert_script_makes

FRAMEWORK = load("numpy")

ROOM_GIB = 2
"""Memory that a case of the default size may take."""


def planned(size="small", dtype="float32"):
    settings = Settings(profiler="python", warmup=0, runs=1, dtype=dtype, memory=False)
    return plan(FRAMEWORK, Selection(size=size, settings=settings))


CASES = planned().cases


@pytest.fixture(scope="module")
def outputs():
    """What the call of every small case gives, by the case's id."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES:
            with FRAMEWORK.scope(case):
                found[case.id] = list(arrays(PreparedCase(case, FRAMEWORK).call()))
    return found


def test_shapes_told_without_a_call_are_those_of_the_outputs(outputs):
    told = 0
    for case in CASES:
        shapes = FRAMEWORK.inference.output_shapes(case)
        if shapes is not None:
            told += 1
            sizes = [int(np.prod(shape)) for shape in shapes]
            assert (
                sizes[: len(outputs[case.id])] == [a.size for a in outputs[case.id]][: len(sizes)]
            ), case.label
    assert told > len(CASES) / 4


def test_the_dtype_that_is_not_asked_for_is_numpys_own():
    assert Counter(case.settings.dtype for case in CASES) == {"float64": len(CASES)}
    spectra = (case for case in CASES if case.label == "fft.ifft")
    assert {spec.dtype for case in spectra for _, spec in case.tensors()} == {"complex128"}
    settings = Settings(profiler="python", dtype="float32")
    asked = Selection(("fft.ifft", "add"), size="small", settings=settings, dtype_given=True)
    dtypes = {spec.dtype for case in plan(FRAMEWORK, asked).cases for _, spec in case.tensors()}
    # NumPy 2 adds texts too.
    assert {one for one in dtypes if kind_of(one) != "text"} == {"complex64", "float32"}


def test_every_operator_has_cases_or_a_reason():
    made = planned()
    names = {case.label for case in made.cases}
    assert names | set(made.excluded) == {o.name for o in FRAMEWORK.operators()}
    assert set(made.excluded) <= set(rules_module("opperf.rules.numpy").NOT_BENCHMARKED)


@pytest.mark.parametrize(
    "dtype",
    [
        *("int32", "bool", "complex64"),
        *(pytest.param(one, marks=pytest.mark.sweep) for one in ("float16", "float64", "uint8")),
    ],
)
def test_another_dtype_runs_or_is_said_not_to(dtype):
    statuses = Counter()
    for case in planned(dtype=dtype).cases:
        record = measure(case, FRAMEWORK)
        statuses[record.status] += 1
        assert record.status in (Status.OK, Status.SKIPPED), (case.label, record.reason)
    assert statuses[Status.OK] > 5 * statuses[Status.SKIPPED]


def test_the_default_size_fits():
    for case in planned("default").cases:
        needed = estimated_bytes(case, FRAMEWORK.inference.output_shapes(case))
        assert needed < ROOM_GIB * GIB, (case.label, case.arguments)


def test_sizes_grow_with_the_preset():
    small, default = (
        sum(spec.size for case in planned(size).cases for _, spec in case.tensors())
        for size in ("small", "default")
    )
    assert default > small / PRESETS["small"].scale


def test_every_script_runs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES:
            prepared = PreparedCase(case, FRAMEWORK)
            text = FRAMEWORK.recordings.source(case, prepared.arguments, prepared.call)
            assert_script_makes(text, case, prepared.arguments)
            namespace = {}
            exec(compile(text, case.label, "exec"), namespace)
            assert "out" in namespace
