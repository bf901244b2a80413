"""`opperf versus` from the command line, and from Python."""

import json
import shlex
from pathlib import Path

import pytest

import opperf
from opperf.comparison.ab.session_file import SessionWriter
from opperf.errors import UsageError
from opperf.frameworks import BUILT_IN, is_available
from opperf.operations import OPERATIONS
from opperf.operations.uses import names_of
from opperf.opperf import main
from opperf.requests.ab import sessions
from opperf.requests.versus import arms as reading
from opperf.rules.engine import rules_module
from opperf.rules.families import FAMILIES
from opperf.utils.benchmark_utils import run_benchmark_operator

needs_torch = pytest.mark.skipif(not is_available("torch"), reason="PyTorch is not installed")
# Its processes begin in half of PyTorch's time.
needs_jax = pytest.mark.skipif(not is_available("jax"), reason="JAX is not installed")


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    def done(*words, code):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main(["versus", *words])
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out, err

    return done


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "name operations, e.g. opperf versus add matmul"),
        (("sofmax",), "no operation is called 'sofmax'; did you mean softmax"),
        (("add", "--among", "nump,torch"), "unknown framework 'nump'; did you mean numpy"),
        (("add", "--among", "numpy,numpy"), "numpy is named twice"),
        (("add", "--among", "numpy"), "only numpy is left to compare"),
        (("add", "--among", "numpy:"), "write it as FRAMEWORK[.NAMESPACE][:MODE]"),
        (("add", "--shape", "lhs=4x4"), "add has no tensor 'lhs'"),
        (("add", "--quick", "--fail-on", "slower"), "--quick has no verdicts"),
        (("add", "--python", "numpy=/nowhere"), "no such program"),
        (("add", "--fail-on", "regressed"), "regressed"),
        (("add", "--dtype", "bfloat17"), "unknown dtype 'bfloat17'; did you mean bfloat16"),
        (("add", "--plot", "a.png"), "draws a sweep; add --sweep"),
        (("random_normal", "--category", "none"), "unknown category of operations 'none'"),
    ],
)
def test_bad_input_is_one_line(here, words, said):
    out, err = here(*words, code=2)
    assert said in err and len(err.strip().splitlines()) == 1 and not out


def test_an_arm_that_is_not_installed_is_said_and_too_few_are_left(here, monkeypatch):
    monkeypatch.setattr(reading, "is_available", lambda name: name == "numpy")
    _, err = here("add", "--among", "numpy,torch", code=2)
    absent, error = err.strip().splitlines()
    assert absent.startswith("absent: torch: torch is not installed; install it with: pip install")
    assert "only numpy is left to compare" in error


@needs_torch
def test_a_file_of_another_session_is_left_as_it_is(here, tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(sessions, "keep_interrupted", lambda path, say: kept.append(path))
    file = tmp_path / "mine.jsonl"
    file.write_text("{}\n")
    _, err = here("add", "--among", "numpy,torch", "--report", str(file), code=2)
    assert err.strip().endswith("exists; add --overwrite to replace it, or --resume to finish it")
    assert file.read_text() == "{}\n" and not kept


@needs_torch
def test_an_operation_without_inputs_by_role_is_said(here, planning):
    few = ("--size", "small", "--max-configs", "1", "--dry-run")
    out, err = here("add", "random_normal", "--among", "numpy,torch", *few, code=0)
    assert "add" in out and "random_normal" not in out
    assert err.startswith("not measured: random_normal: its inputs are each framework's own")


def test_the_page_has_the_numbers_of_operations_without_inputs_by_role():
    have = [set(names_of(rules_module(f"opperf.rules.{name}").OPERATIONS)) for name in BUILT_IN]
    shared = {name for name in OPERATIONS if sum(name in own for own in have) > 1}
    without = shared - FAMILIES.by_operation.keys()
    text = (Path(__file__).parents[3] / "docs" / "versus.md").read_text()
    assert f"have {len(shared)} of the operations, and the inputs of {len(without)} of" in text
    drawn = {name for name in without if OPERATIONS[name].module == "sampling"}
    assert f"{len(drawn)} draw random numbers" in text


@needs_torch
def test_modes_and_namespaces_that_an_arm_lacks_are_named(here, planning):
    _, err = here("add", "--among", "numpy,numpy:compile", "--size", "small", code=2)
    assert "--among numpy:compile: unknown mode 'compile'" in err
    _, err = here("add", "--among", "numpy,torch.nn", "--size", "small", code=2)
    assert "--among torch.nn: unknown namespace 'nn'" in err


@needs_torch
def test_a_first_look_of_numpy_and_torch(here, tmp_path):
    few = ("--size", "small", "--max-configs", "1", "--quick")
    out, _ = here("add", "relu", "--among", "numpy,torch", *few, "-f", "json", code=0)
    found = json.loads(out)
    rows = found["rows"]
    assert {(row["operation"], row["arm"], row["metric"]) for row in rows} == {
        ("add", "numpy", "forward"),
        ("add", "torch", "forward"),
    }
    first, second = rows
    assert second["ratio"] == pytest.approx(second["new"] / first["new"])
    assert {row["results"] for row in rows} <= {"base", "same"}
    assert first["memory"] == 64 * 64 * 4
    assert {(lack["arm"], lack["operation"]) for lack in found["lacking"]} >= {("numpy", "relu")}
    assert found["numerics"]["torch"]["threads"] == "1"
    assert not found["valid"] or found["is_quick"]
    # As all that read run files.
    assert len(opperf.read(tmp_path / "opperf_versus.jsonl").records) == 2


@needs_jax
def test_calls_of_one_framework_alternate_and_the_session_has_verdicts(tmp_path):
    found = opperf.versus(
        "exp",
        ["jax", "jax:eager"],
        size="small",
        max_configs=1,
        no_backward=True,
        blocks=4,
        case_time=0.005,
        shape={"x": (64, 64)},
        output=tmp_path / "s.jsonl",
    )
    assert found.found.alternates and [row.arm for row in found.rows] == ["jax", "jax:eager"]
    assert found.exit_code in (0, 1, 3)
    assert "jax:eager" in str(found)


@needs_jax
def test_run_benchmark_operator_has_arms():
    found = run_benchmark_operator("add", (32, 16), among=["numpy", "jax"], ctx="cpu(0)")
    assert {row.inputs for row in found.rows} == {"x: (32, 16), y: (32, 16)"}
    assert {record.case.settings.device for record in found.run.records} == {"cpu(0)"}


@pytest.mark.parametrize("option", [{"profiler": "python"}, {"warmup": 0}, {"runs": 1}])
def test_run_benchmark_operator_refuses_what_a_first_look_has_not(option):
    (name,) = option
    with pytest.raises(UsageError, match=f"{name} is not for among"):
        run_benchmark_operator("add", (32, 16), among=["numpy", "torch"], **option)


LOOK = ("--size", "small", "--max-configs", "1", "--no-backward", "--case-time", "0.001")


@pytest.fixture
def interrupted(here, monkeypatch):
    """Interrupts the session of some words once it has this many processes; what it says."""

    def done(*words, processes):
        def add(writer, line, records):
            stored(writer, line, records)
            if writer.session.n_processes == processes:
                raise KeyboardInterrupt

        stored = SessionWriter.add
        with monkeypatch.context() as patched:
            patched.setattr(SessionWriter, "add", add)
            return here(*words, code=130)[1]

    return done


@needs_jax
def test_an_interrupted_session_is_resumed_and_no_process_is_measured_twice(
    here, interrupted, tmp_path
):
    blocks = ("--control-blocks", "2", "--blocks", "2")
    words = ("exp", "--among", "numpy,jax", *LOOK, *blocks)
    err = interrupted(*words, "--fail-on", "wrong", processes=3)
    _, advice = err.strip().splitlines()[-1].split("Resume with: opperf versus ")
    assert advice == "--resume --report opperf_versus.jsonl --fail-on wrong"
    path = tmp_path / "opperf_versus.jsonl"
    before = path.read_bytes()

    out, err = here(*shlex.split(advice), "--dry-run", code=0)
    assert "3 processes measured already" in err and path.read_bytes() == before
    with pytest.raises(SystemExit) as ended:
        main(["versus", *shlex.split(advice)])
    assert ended.value.code in (0, 3)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert path.read_bytes().startswith(before) and lines[-1]["line"] == "closing"
    places = [str(line["place"]) for line in lines if line["line"] == "process"]
    # Two of the control and two of the arms have two processes of each arm.
    assert len(places) == len(set(places)) == 4 * 4


@needs_jax
def test_a_session_is_resumed_with_its_own_options_and_command_alone(here, interrupted, tmp_path):
    words = ("exp", "--among", "numpy,jax", *LOOK, "--quick")
    assert "Resume with: opperf versus --resume" in interrupted(*words, processes=1)
    before = (tmp_path / "opperf_versus.jsonl").read_bytes()
    for more, said in (
        (("--among", "jax,numpy"), "--among 'numpy, jax', not 'jax, numpy'"),
        (("sin",), "exp"),
        (("--overwrite",), "--resume and --overwrite exclude each other"),
        (("--fail-on", "slower", "--quick"), "--quick has no verdicts"),
    ):
        _, err = here(*more, "--resume", code=2)
        assert said in err and len(err.strip().splitlines()) == 1, err
    with pytest.raises(SystemExit) as ended:
        main(["ab", "--resume", "opperf_versus.jsonl"])
    assert ended.value.code == 2
    assert (tmp_path / "opperf_versus.jsonl").read_bytes() == before
    out, err = here("--resume", code=0)
    assert "first look: 3 processes, 1 case each" in err and "A first look: 4 processes" in out
