"""JAX's options by name, as `--set` has them; dtypes of 64 bits; the cache of programs."""

import os
import re

import pytest

jax = pytest.importorskip("jax")

from opperf.errors import UsageError  # noqa: E402  (jax may be missing)
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import PACKAGE, WIDE, compiling, devices  # noqa: E402
from opperf.model import Case, Settings  # noqa: E402

FRAMEWORK = load("jax")


def value_of(name):
    return jax.config.values[name]


@pytest.fixture(autouse=True)
def options_are_restored():
    before = dict(jax.config.values)
    yield
    for name, value in before.items():
        if value_of(name) != value:
            jax.config.update(name, value)


@pytest.mark.parametrize(
    ("name", "text", "option", "value"),
    [
        ("jax_debug_nans", "true", "jax_debug_nans", True),
        ("debug_nans", "on", "jax_debug_nans", True),
        ("jax.config.jax_debug_nans", "1", "jax_debug_nans", True),
        ("jax_default_matmul_precision", "highest", "jax_default_matmul_precision", "highest"),
        (
            "jax_persistent_cache_min_compile_time_secs",
            "2.5",
            "jax_persistent_cache_min_compile_time_secs",
            2.5,
        ),
        (
            "persistent_cache_min_entry_size_bytes",
            "7",
            "jax_persistent_cache_min_entry_size_bytes",
            7,
        ),
    ],
)
def test_an_option_is_set_when_it_is_applied(name, text, option, value):
    before = value_of(option)
    assert before != value
    apply = compiling.option(name, text)
    assert value_of(option) == before
    apply()
    assert value_of(option) == value


def test_none_is_no_value():
    compiling.option("jax_default_matmul_precision", "high")()
    compiling.option("jax_default_matmul_precision", "none")()
    assert value_of("jax_default_matmul_precision") is None


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("jax_debug_nan", "true", "JAX has no option 'jax_debug_nan'; did you mean jax_debug_nans"),
        ("jax_enable_x46", "true", "did you mean jax_enable_x64"),
        ("jax_debug_nans", "maybe", "--set jax_debug_nans=maybe: use true or false"),
        (
            "jax_persistent_cache_min_entry_size_bytes",
            "few",
            "--set jax_persistent_cache_min_entry_size_bytes=few: it is a number",
        ),
    ],
)
def test_a_wrong_name_or_value_is_one_line(name, text, words):
    with pytest.raises(UsageError, match=re.escape(words)) as refused:
        compiling.option(name, text)
    assert "\n" not in str(refused.value)


def test_a_value_that_jax_refuses_is_one_line():
    apply = compiling.option("jax_default_matmul_precision", "hihg")
    with pytest.raises(UsageError, match="^--set jax_default_matmul_precision=hihg: ") as refused:
        apply()
    assert "\n" not in str(refused.value)


def test_dtypes_of_64_bits_set_the_option_of_their_worker():
    assert set(PACKAGE.dtype_options) == set(WIDE)
    assert all(options == {"jax_enable_x64": "true"} for options in PACKAGE.dtype_options.values())
    for name in WIDE:
        assert devices.dtype_of(name) == devices.NARROWED[name]
    compiling.option("jax_enable_x64", "true")()
    for name in WIDE:
        assert devices.dtype_of(name) == name


def test_every_dtype_is_one_of_jax():
    for name in devices.DTYPES:
        assert str(devices.dtype_of(name)) == devices.NARROWED.get(name, name)


def test_programs_for_other_numbers_of_threads_are_in_other_folders(monkeypatch, tmp_path):
    monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path))
    found = []
    for cores in ({0}, {0, 1}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, cores=cores: cores)
        found.append(compiling.program_folder())
    monkeypatch.setenv("NPROC", "1")
    found.append(compiling.program_folder())
    assert len(set(found)) == 3
    assert {folder.parent for folder in found} == {tmp_path}


@pytest.mark.parametrize("cache, is_used", [("warm", True), ("cold", False)])
def test_programs_are_kept_unless_the_cache_is_cold(monkeypatch, tmp_path, cache, is_used):
    monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path / "programs"))
    before = value_of("jax_compilation_cache_dir")
    target = FRAMEWORK.resolve("jnp.exp").target
    with FRAMEWORK.scope(Case(target, {}, Settings(compile_cache=cache))):
        assert value_of("jax_enable_compilation_cache") is is_used
        # A constant that no other program has, so that it is compiled.
        jax.jit(lambda x: x * 1.2345678)(jax.numpy.ones(11))
    assert bool([*tmp_path.rglob("jit_*")]) is is_used
    assert value_of("jax_compilation_cache_dir") == before
