"""What the command line refuses: one line that says what to do, before anything runs."""

import os
import stat

import pytest

from opperf.frameworks import load

WITHOUT_MXNET = [
    (("relu", "-r", "-1"), ["--runs", "'-1' is not an integer of at least 1"]),
    (("relu", "-r", "0"), ["--runs", "'0' is not an integer of at least 1"]),
    (("relu", "-r", "many"), ["--runs", "'many'"]),
    (("relu", "-w", "-3"), ["--warmup", "'-3' is not an integer of at least 0"]),
    (("relu", "--timeout", "0"), ["--timeout"]),
    (("relu", "--threads", "0"), ["--threads"]),
    (("relu", "--seed", "-1"), ["--seed"]),
    (("relu", "-f", "xml"), ["'xml'", "'json', 'md', 'csv', 'jsonl'"]),
    (("relu", "-p", "perf"), ["'perf'", "native, python"]),
    (("relu", "--size", "huge"), ["'huge'", "small, default, large"]),
    (("relu", "--int64-tensor", "maybe"), ["'maybe'", "on, off"]),
    (
        ("relu", "--shape", "lhs=axb"),
        ["'a' is neither a number nor a swept variable", "--sweep a="],
    ),
    (("relu", "--shape", "lhs"), ["'lhs' is not of the form lhs=1024x1024"]),
    (("relu", "--shape", "4", "--shape", "rhs=4"), ["a shape without a name"]),
    (("broadcast_add", "--shape", "4x8"), ["which input has this shape? ", "--shape lhs=4x8"]),
    (("relu", "--shape", "lhs=4x0"), ["'4x0' is not a shape", "at least 1"]),
    (("relu", "--shape", "lhs=4x-2"), ["'4x-2' is not a shape"]),
    (("relu", "--max-time", "0"), ["--max-time"]),
    (("relu", "--max-configs", "0"), ["--max-configs"]),
    (("relu", "--namespace", " , "), ["--namespace", "is empty"]),
    (("relu", "--bogus"), ["--bogus"]),
    (("relu", "--list", "--ctx"), ["--ctx"]),
    (("--ops", ""), ["--ops", "'' is empty"]),
    (("--ops", " ,"), ["--ops", "' ,' is empty"]),
    (("",), ["'' is empty"]),
    (("relu", "--category", ""), ["--category", "'' is empty"]),
    (("relu", "--exclude", ""), ["--exclude", "'' is empty"]),
    (("relu", "-o", "there/is/none.json"), ["the folder", "does not exist"]),
    (("relu", "-o", "."), [". is a folder"]),
    (("relu", "-o", "/proc/out.json"), ["/proc/out.json cannot be written"]),
    (("relu", "-o", "/dev/null"), ["/dev/null is not a regular file"]),
    (("relu", "--resume"), ["there is no unfinished run to resume"]),
    (("relu", "--resume", "none.jsonl"), ["none.jsonl", "no unfinished run"]),
    (("relu", "--resume", "--overwrite"), ["--resume", "--overwrite"]),
    (("relu", "--retry", "failed"), ["--retry", "--resume"]),
    (("relu", "--precision", "0"), ["--precision", "0"]),
    (("relu", "--precision", "1.5"), ["--precision", "1.5"]),
    (("relu", "--rounds", "0"), ["--rounds", "0"]),
    (("relu", "--cache", "tepid"), ["'tepid'", "hot, cold"]),
    (("relu", "--fuzz-shapes", "0"), ["--fuzz-shapes", "0"]),
    (("relu", "--fuzz-shapes", "3", "--size", "small"), ["--size", "--fuzz-shapes"]),
    (("relu", "--fuzz-shapes", "3", "--shape", "data=4"), ["--shape", "--fuzz-shapes"]),
    (("relu", "--fuzz-shapes", "3", "--min-elements", "9", "--max-elements", "8"), ["9", "8"]),
    (("relu", "--min-elements", "9"), ["--min-elements", "--fuzz-shapes"]),
    (("relu", "--id", ""), ["--id", "'' is empty"]),
    (("relu", "--resume", "--retry", "ok"), ["--retry", "'ok' is not one of failed, crashed"]),
]
"""Arguments that are refused, and words of the reason."""

WITH_MXNET = [
    (("relu", "--ctx", "tpu"), ["unknown device 'tpu'", "mxnet has: ", "cpu(0)"]),
    (("relu", "--dtype", "flaot32"), ["unknown dtype 'flaot32'; did you mean float32"]),
    (("batchnrm",), ["no operator is called 'batchnrm'; did you mean BatchNorm"]),
    (("add",), ["'add'; did you mean nd.add, np.add, elemwise_add, broadcast_add, add_n?"]),
    (("conv",), ["'conv'; did you mean Convolution, "]),
    (("reduction",), ["'reduction'; did you mean --category reduction?"]),
    (("relu", "--ops", "zzz*"), ["no operator is called 'zzz*'"]),
    (("nd.rleu",), ["mxnet.ndarray has no 'rleu'; did you mean relu"]),
    (("--exclude", "rleu"), ["--exclude: no operator is called 'rleu'; did you mean relu"]),
    (("relu", "--exclude", "zzz*"), ["--exclude: no operator is called 'zzz*'"]),
    (("re:(",), ["'re:(' is not a regular expression"]),
    (("relu", "--id", "zzz"), ["--id zzz: no planned case has this id", "--list"]),
    (("--category", "unry"), ["unknown category 'unry'; did you mean unary", "reduction"]),
    (("--namespace", "ndd"), ["unknown namespace 'ndd'; did you mean nd", "linalg"]),
    (("--category", "gemm", "--namespace", "image"), ["no operator matches --category"]),
    (("_imdecode",), ["nothing to run", "_imdecode: reads an image as text"]),
    (("broadcast_add", "--shape", "lsh=3"), ["--shape lsh=", "did you mean lhs"]),
    (("relu", "--shape", "data=12x"), ["'12x' is not a shape"]),
    (("relu", "--shape", "data=12xx4"), ["'12xx4' is not a shape"]),
    (("relu", "--framework", "mxnt"), ["unknown framework 'mxnt'; did you mean mxnet"]),
]

NUMPY = ("--framework", "numpy")
"""The framework that takes no time to import."""

OF_OTHER_COMMANDS = [
    (("run", "re:*"), ["'re:*' is not a regular expression"]),
    (("run", "re:"), ["'re:' has no expression"]),
    (("run", "add", "--shape", "x1=3", "--shape", "x1=4"), ["'x1' is set twice"]),
    (("run", "add", "--exclude", "re:("), ["'re:(' is not a regular expression"]),
    (("run", "add", "--exclude", "add"), ["no operator matches --category"]),
    (("run", "add", "--category", "reduction"), ["no operator matches --category"]),
    (("list", "re:["), ["'re:[' is not a regular expression"]),
    (("list", "["), ["no operator is called '['"]),
    (("list", "ad"), ["no operator is called 'ad'; did you mean", "add"]),
    (("list", "zzz*"), ["no operator is called 'zzz*'"]),
    (("list", ""), ["is empty"]),
    (("list", "--exclude", "re:("), ["'re:(' is not a regular expression"]),
    (("list", "--exclude", "ad"), ["--exclude: no operator is called 'ad'; did you mean"]),
    (("list", "--category", "unry"), ["unknown category 'unry'; did you mean unary", "reduction"]),
    (("list", "--category", ""), ["--category", "is empty"]),
    (("list", "--namespace", "nop"), ["unknown namespace 'nop'", "linalg"]),
    (("list", "--size", "small"), ["--size"]),
    (("list", "--min", "3"), ["--min"]),
    (("show", "ad"), ["no operator is called 'ad'; did you mean", "add"]),
    (("show", ""), ["no operator is called ''"]),
    (("show", "re:("), ["'re:(' is not a regular expression"]),
    (("show", "add", "subtract"), ["unexpected extra argument", "subtract"]),
    (("show", "add", "--size", "huge"), ["'huge'", "small, default, large"]),
    (("coverage", "one.jsonl", "two.jsonl"), ["unexpected extra argument", "two.jsonl"]),
    (("coverage", "."), [". cannot be read: Is a directory"]),
    (("coverage", "/dev/null"), ["/dev/null cannot be read: it is a device, not a file"]),
    (("coverage", "--min", "-1"), ["--min", "-1"]),
    (("coverage", "--min", "most"), ["--min", "'most'"]),
]
"""What the other commands refuse, and what `run` refuses once it knows the operators."""

COMMANDS = [("run", "add"), ("list",), ("show", "add"), ("coverage",)]


@pytest.fixture(scope="module")
def features():
    return load("mxnet").build.features()


def check(command, arguments, words):
    out, err = command(*arguments, code=2)
    assert out == ""
    assert err.startswith("opperf: ") and err.endswith("\n") and err.count("\n") == 1
    for word in words:
        assert word in err, err
    assert command.files() == []
    assert command.unfinished() == []


@pytest.mark.parametrize("arguments, words", WITHOUT_MXNET)
def test_what_is_refused_before_mxnet_is_loaded(command_here, arguments, words):
    check(command_here, arguments, words)


@pytest.mark.parametrize("arguments, words", WITH_MXNET)
def test_what_is_refused_before_anything_runs(command_here, arguments, words):
    check(command_here, arguments, words)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache in which the list of operators is kept from one test to the next."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("arguments, words", OF_OTHER_COMMANDS)
def test_what_other_commands_refuse(command_here, cache, arguments, words):
    command_here.variables["XDG_CACHE_HOME"] = cache
    check(command_here, (*arguments, *NUMPY), words)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_framework_that_there_is_not(command_here, arguments):
    words = ["unknown framework 'nmpy'; did you mean numpy", "known: "]
    check(command_here, (*arguments, "--framework", "nmpy"), words)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_option_that_there_is_not(command_here, arguments):
    check(command_here, (*arguments, "--bogus", *NUMPY), ["--bogus"])


@pytest.mark.parametrize("given, device", [("gpu(0)",) * 2, ("GPU", "gpu(0)"), ("gpu(9)",) * 2])
def test_a_gpu_that_is_not_there(command_here, features, given, device):
    if features["CUDA"]:
        pytest.skip("this build has CUDA")
    check(
        command_here,
        ("relu", "--ctx", given),
        [f"{device}: this MXNet build", "has no CUDA", "pip install mxnet-cu", "--ctx cpu"],
    )


def test_large_tensors_on_a_build_without_them(command_here, features):
    if features["INT64_TENSOR_SIZE"]:
        pytest.skip("this build has large tensors")
    check(
        command_here,
        ("relu", "--int64-tensor", "ON"),
        ["--int64-tensor on", "INT64_TENSOR_SIZE", "--int64-tensor off"],
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(command_here):
    command_here.folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    check(command_here, ("relu",), ["cannot be written"])


def test_a_cache_that_cannot_be_made(command_here):
    command_here.variables["XDG_CACHE_HOME"] = "/proc/none"
    out, err = command_here("relu", code=2)
    assert err.startswith("opperf: /proc/none/opperf/unfinished") and err.count("\n") == 1
    assert "OPPERF_CACHE" in err and "-f jsonl" in err
    assert command_here.files() == []


def test_a_whole_process_refuses_the_same(command):
    check(command, *WITHOUT_MXNET[0])
    check(command, *WITH_MXNET[0])
