"""JAX's functions that cannot be compiled: skipped with the reason, measured in eager mode."""

import pytest

pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.model import Case, Settings, Status, TensorSpec  # noqa: E402
from opperf.rules.values import below, fixed  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

VECTOR = TensorSpec((8,))


@pytest.fixture(scope="module")
def framework():
    return load("jax")


@pytest.fixture
def record(framework):
    def made(name, arguments, mode="jit"):
        settings = Settings(profiler="python", warmup=0, runs=2, memory=False, mode=mode)
        return measure(Case(framework.resolve(name).target, arguments, settings), framework)

    return made


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("jnp.trim_zeros", {"filt": VECTOR}, "the shape of its result depends on its data"),
        ("jnp.nonzero", {"a": VECTOR}, "the shape of its result depends on its data"),
        ("jnp.from_dlpack", {"x": VECTOR}, "it reads its arrays outside of JAX"),
        (
            "jnp.frombuffer",
            {"buffer": fixed(8, fill=below(9), dtype="uint8"), "dtype": "uint8"},
            "it reads its arrays outside of JAX",
        ),
    ],
)
def test_what_cannot_be_compiled_is_skipped_and_runs_eagerly(record, name, arguments, why):
    compiled = record(name, arguments)
    assert compiled.status is Status.SKIPPED
    assert compiled.reason == f"{why}: use --mode eager"
    assert record(name, arguments, "eager").status is Status.OK


def test_a_static_size_makes_it_compile(record):
    assert record("jnp.nonzero", {"a": VECTOR, "size": 8}).status is Status.OK


def test_a_wrong_argument_still_fails(record):
    refused = record("jnp.add", {"x": VECTOR, "y": TensorSpec((3,))})
    assert refused.status is Status.FAILED
    assert "eager" not in refused.reason


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("random.bits", {"shape": (4,), "dtype": "uint32"}),
        ("random.clone", {}),
        ("random.fold_in", {"data": fixed(fill=below(9), dtype="int32")}),
        ("random.key", {"seed": fixed(fill=below(9), dtype="int32")}),
        ("random.key_data", {}),
        ("random.split", {"num": 3}),
        ("random.wrap_key_data", {"key_bits_array": fixed(2, fill=below(9), dtype="uint32")}),
    ],
)
def test_functions_that_take_or_make_keys_are_measured(record, name, arguments):
    assert record(name, arguments).status is Status.OK
