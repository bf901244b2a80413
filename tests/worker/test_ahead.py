"""A case is compiled into JAX's cache by one process, and measured with its programs by another."""

import pytest

pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import compiling  # noqa: E402
from opperf.instruments.peaks import LOCAL_METER  # noqa: E402
from opperf.instruments.visit import (
    CompiledAhead,  # noqa: E402
    Conditions,  # noqa: E402
)
from opperf.model import Case, NoteCode, Settings, Status, TensorSpec  # noqa: E402
from opperf.worker.answers import MOST_BYTES, compile_cases, uncompiled  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

FRAMEWORK = load("jax")
BOTH = ("forward", "backward")


def case_of(name="jnp.tanh", shape=(5, 19), passes=BOTH, **settings):
    plain = {"device": "cpu(0)", "profiler": "python", "warmup": 0, "runs": 2, "mode": "jit"}
    target = FRAMEWORK.resolve(name).target
    argument = "a" if "linalg" in name else "x"
    data = {argument: TensorSpec(shape, gradient=True)}
    return Case(target, data, Settings(**plain | settings), passes)


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path))


@pytest.mark.parametrize("passes, count", [(BOTH, 3), (("forward",), 1)])
def test_what_is_compiled_ahead_are_the_programs_that_are_measured(passes, count):
    case = case_of(passes=passes)
    assert uncompiled(FRAMEWORK, [case]) == (case.id,)
    (ahead,) = compile_cases(FRAMEWORK, [case]).values()
    assert ahead.cache_misses == count
    assert 0 < ahead.first_ns <= ahead.compile_ns
    assert uncompiled(FRAMEWORK, [case]) == ()
    measured = measure(case, FRAMEWORK)
    assert measured.status is Status.OK, measured.reason
    # All of them are in the cache.
    assert measured.summaries["compile_cache_misses"].median == 0


def test_the_time_to_compile_is_that_of_the_compilation_and_not_of_reading_the_cache():
    case = case_of()
    compile_cases(FRAMEWORK, [case])
    ahead = CompiledAhead(compile_ns=3e12, first_ns=1e12, cache_misses=3)
    measured = measure(case, FRAMEWORK, conditions=Conditions(LOCAL_METER, ahead=ahead))
    found = {name: summary.median for name, summary in measured.summaries.items()}
    assert found["compilation"] == 3e12
    assert found["compile_cache_misses"] == 3
    assert 1e12 < found["first_call"] < 2e12
    for name in ("compilation", "first_call"):
        assert measured.note(name, NoteCode.AHEAD) is not None
    assert measured.note("forward", NoteCode.AHEAD) is None


def test_programs_that_another_case_has_compiled_are_read():
    case = case_of()
    compile_cases(FRAMEWORK, [case])
    (again,) = compile_cases(FRAMEWORK, [case]).values()
    assert again.cache_misses == 0
    measured = measure(case, FRAMEWORK, conditions=Conditions(LOCAL_METER, ahead=again))
    assert measured.note("compilation", NoteCode.AHEAD) is None


def test_of_a_case_without_a_gradient_the_forward_pass_is_compiled():
    case = case_of("jnp.linalg.svd", shape=(4, 4))
    (ahead,) = compile_cases(FRAMEWORK, [case]).values()
    assert ahead.cache_misses == 1
    assert measure(case, FRAMEWORK).summaries["compile_cache_misses"].median == 0


@pytest.mark.parametrize(
    "case", [case_of(compile_cache="cold"), case_of(mode="eager")], ids=["cold", "eager"]
)
def test_a_case_without_a_cache_is_not_compiled_ahead(case):
    assert uncompiled(FRAMEWORK, [case]) == ()


def test_what_is_large_or_fails_is_left_to_the_measurement():
    large = case_of(shape=(MOST_BYTES // 8,))
    failing = case_of("jnp.linalg.inv", shape=(3, 4))
    assert compile_cases(FRAMEWORK, [large, failing]) == {}
    assert uncompiled(FRAMEWORK, [large, failing]) == (large.id, failing.id)


def test_another_environment_has_other_programs(monkeypatch):
    case = case_of()
    compile_cases(FRAMEWORK, [case])
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert uncompiled(FRAMEWORK, [case]) == (case.id,)
