"""JAX from the command line: profilers, modes, dtypes, run files, scripts, users' functions,
refusals."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.cutting import cut_last_case

jax = pytest.importorskip("jax")

FEW = ("--framework", "jax", "--size", "small", "-w", "1", "-r", "3", "--quiet")

COSTS = {*("lowering", "compilation", "compile_cache_misses", "recompilations"), "bytes_accessed"}

RANDOM_INPUTS = """
import os

import jax
import jax.numpy as jnp


def inputs():
    drawn = jax.random.uniform(jax.random.key(0), (8,))
    return {"x": drawn * float(os.environ.get("FACTOR", "1"))}


def scaled(x):
    return x * 2


def total():
    return jnp.ones((100, 100)).sum()
"""

KERNELS = """
import jax
import jax.numpy as jnp

def scaled(x, scale=2.0):
    return jnp.tanh(x) * scale

@jax.jit
def compiled(x):
    return x @ x

def inputs():
    return [{"x": jnp.ones((8, 8))}]
"""


def records(command, *arguments, code=0):
    """The records of a run."""
    command("run", *arguments, *FEW, "-o", "out.jsonl", "--overwrite", code=code)
    return read(command)


def read(command, kind="record", file="out.jsonl"):
    lines = map(json.loads, (command.folder / file).read_text().splitlines())
    # The last of a case stands: a stalled one is measured again.
    return list({one["id"]: one for one in lines if one["line"] == kind}.values())


def cases(command):
    return [one["case"] for one in read(command, "case")]


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_forward_backward_and_memory(command_here, profiler):
    found = records(command_here, "jnp.exp", "--profiler", profiler)
    assert found
    for one in found:
        assert one["status"] == "ok"
        assert COSTS | {"forward", "backward", "memory"} <= set(one["summaries"])


def test_modes(command_here):
    records(command_here, "jnp.tanh", "--mode", "jit,eager", "--no-memory")
    assert {case["settings"].get("mode", "eager") for case in cases(command_here)} == {
        "jit",
        "eager",
    }
    compiled = [one for one in read(command_here) if "compilation" in one["summaries"]]
    assert 2 * len(compiled) == len(read(command_here))


def test_a_short_name_selects_the_operator_of_jax_numpy(command_here):
    records(command_here, "square", "--no-memory")
    assert {case["target"]["name"] for case in cases(command_here)} == {"jnp.square"}


def test_dtypes_of_64_bits_have_a_worker_of_their_own(command_here):
    found = records(command_here, "jnp.exp", "--dtype", "float32,float64", "--no-memory")
    assert {one["status"] for one in found} == {"ok"}
    settings = [case["settings"] for case in cases(command_here)]
    wide = [one for one in settings if one["dtype"] == "float64"]
    assert wide and all(one["options"] == {"jax_enable_x64": "true"} for one in wide)
    assert not any(one.get("options") for one in settings if one["dtype"] == "float32")
    environments = [one["environment"]["features"] for one in read(command_here, "environment")]
    assert {one["x64"] for one in environments} == {False, True}


def test_a_cold_cache_of_programs_is_recorded(command_here):
    found = records(command_here, "jnp.cosh", "--compile-cache", "cold", "--no-memory")
    assert all(one["summaries"]["compilation"]["median"] > 0 for one in found)
    assert {case["settings"]["compile_cache"] for case in cases(command_here)} == {"cold"}


def test_threads_are_those_of_the_process(command_here):
    found = records(command_here, "jnp.sinh", "--threads", "1", "--no-memory")
    assert {one["status"] for one in found} == {"ok"}
    (environment,) = read(command_here, "environment")
    assert environment["environment"]["threads"]["compute threads"] == "1"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("jnp.ad",), "'jnp.ad': jax.numpy has no 'ad'; did you mean add?"),
        (("tahn",), "no operator is called 'tahn'; did you mean tan?"),
        (("jax.numpy.tahn",), "'jax.numpy.tahn': "),
        (("jnp.add", "--ctx", "gpu(7)"), "gpu(7): this build of JAX"),
        (("jnp.add", "--ctx", "npu"), "unknown device 'npu'"),
        (("jnp.add", "--dtype", "flaot16"), "unknown dtype 'flaot16'; did you mean float16"),
        (("jnp.add", "--mode", "graph"), "unknown mode 'graph'"),
        (("jnp.add", "--set", "jax_debug_nan=true"), "did you mean jax_debug_nans"),
        (("jnp.add", "--set", "jax_debug_nans=maybe"), "use true or false"),
        (("--category", "gem"), "unknown category 'gem'; did you mean gemm"),
        (("jnp.add", "--namespace", "jpn"), "unknown namespace 'jpn'; did you mean jnp"),
        (("kernels.py:nothing",), "kernels.py"),
    ],
)
def test_what_is_wrong_is_one_line(command_here, arguments, message):
    _, err = command_here("run", *arguments, *FEW, "-o", "out.json", code=2)
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (command_here.folder / "out.json").exists()


def test_a_function_of_dynamic_shape_is_skipped_with_the_mode_that_runs_it(command_here):
    found = records(command_here, "jnp.trim_zeros", "--no-memory", code=1)
    assert {one["status"] for one in found} == {"skipped"}
    assert all("use --mode eager" in one["reason"] for one in found)


def test_a_run_file_is_resumed_and_measured_again(command_here):
    records(command_here, "jnp.exp", "--no-memory")
    path = command_here.folder / "out.jsonl"
    whole = len(read(command_here))
    cut_last_case(path)
    assert len(read(command_here)) == whole - 1
    command_here("run", "--resume", "out.jsonl", "--quiet")
    assert len(read(command_here)) == whole
    command_here("run", "out.jsonl", "-r", "3", "--quiet", "-o", "again.jsonl")
    ids = [{one["id"] for one in read(command_here, file=file)} for file in FILES]
    assert ids[0] == ids[1] and len(ids[0]) == whole


FILES = ("out.jsonl", "again.jsonl")


def scripts(text):
    """The scripts that `opperf show` prints, each with the lines that all begin with."""
    _, _, rest = text.partition("Every script begins with:\n")
    first, *others = rest.split("\nCase ")
    beginning = textwrap.dedent(first)
    for one in others:
        indented = [line for line in one.splitlines() if line.startswith("    ") or not line]
        yield beginning + textwrap.dedent("\n".join(indented))


@pytest.mark.parametrize(
    "name",
    [
        "jnp.take",
        *(pytest.param(one, marks=pytest.mark.sweep) for one in ("jnp.matmul", "jnp.concatenate")),
    ],
)
def test_scripts_run(command_here, name):
    out, _ = command_here("show", name, "--framework", "jax", "--size", "small")
    found = list(scripts(out))
    assert found
    gradients = 0
    for text in found:
        names = {}
        exec(compile(text, "script", "exec"), names)
        assert isinstance(names["out"], jax.Array)
        gradients += "gradients_of_inputs" in names
    assert gradients


def test_a_users_functions(command_here):
    # By their whole path, as the worker may have been started in another folder.
    path = command_here.folder / "kernels.py"
    path.write_text(KERNELS)
    few = [word for word in FEW if word not in ("--size", "small")]
    functions = (f"{path}:scaled", f"{path}:compiled")
    command_here("run", *functions, "--inputs", f"{path}:inputs", *few, "-o", "out.jsonl")
    found = read(command_here)
    assert [one["status"] for one in found] == ["ok", "ok"]
    for one in found:
        assert COSTS | {"forward", "backward", "memory"} <= set(one["summaries"])


def test_a_users_inputs_are_made_under_the_options_of_their_case(command_here):
    """`jax.random` draws other numbers in 64 bits, which are an option of the process."""
    path = command_here.folder / "kernels.py"
    path.write_text(RANDOM_INPUTS)
    few = [word for word in FEW if word not in ("--size", "small")]
    axes = ("--inputs", f"{path}:inputs", "--dtype", "float64", "--env", "FACTOR=3")
    command_here("run", f"{path}:scaled", *axes, *few, "-o", "out.jsonl")
    assert [(one["status"], one.get("reason", "")) for one in read(command_here)] == [("ok", "")]


def test_a_function_without_arguments_may_be_a_constant(command_here):
    path = command_here.folder / "kernels.py"
    path.write_text(RANDOM_INPUTS)
    few = [word for word in FEW if word not in ("--size", "small")]
    command_here("run", f"{path}:total", *few, "-o", "constant.jsonl")
    (found,) = read(command_here, file="constant.jsonl")
    assert found["status"] == "ok"
    assert "constant" in {note["code"] for note in found["notes"]}


def test_coverage_of_a_run(command_here):
    records(command_here, "jnp.exp", "jnp.trim_zeros", "--no-memory")
    of_run = ("coverage", "out.jsonl", "--framework", "jax")
    out, _ = command_here(*of_run, "-f", "json")
    assert json.loads(out)
    text, _ = command_here(*of_run)
    assert "jax" in text and "use --mode eager" in text
