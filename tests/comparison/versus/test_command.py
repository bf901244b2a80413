"""`opperf versus` from the command line, and from Python."""

import json

import pytest

import opperf
from opperf.frameworks import is_available
from opperf.opperf import main
from opperf.requests.versus import arms as reading
from opperf.requests.versus import running

needs_torch = pytest.mark.skipif(not is_available("torch"), reason="PyTorch is not installed")


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
    monkeypatch.setattr(running, "keep_interrupted", lambda path, say: kept.append(path))
    file = tmp_path / "mine.jsonl"
    file.write_text("{}\n")
    _, err = here("add", "--among", "numpy,torch", "--report", str(file), code=2)
    assert err.strip().endswith("mine.jsonl exists; add --overwrite to replace it")
    assert file.read_text() == "{}\n" and not kept


@needs_torch
def test_an_operation_without_inputs_by_role_is_said(here):
    few = ("--size", "small", "--max-configs", "1", "--dry-run")
    out, err = here("add", "random_normal", "--among", "numpy,torch", *few, code=0)
    assert "add" in out and "random_normal" not in out
    assert err.startswith("not measured: random_normal: its inputs are each framework's own")


@needs_torch
def test_modes_and_namespaces_that_an_arm_lacks_are_named(here):
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


@needs_torch
def test_calls_of_one_framework_alternate_and_the_session_has_verdicts(tmp_path):
    found = opperf.versus(
        "exp",
        ["torch", "torch:compile"],
        size="small",
        max_configs=1,
        no_backward=True,
        blocks=4,
        case_time=0.005,
        shape={"x": (64, 64)},
        output=tmp_path / "s.jsonl",
    )
    assert found.found.alternates and [row.arm for row in found.rows] == ["torch", "torch:compile"]
    assert found.exit_code in (0, 1, 3)
    assert "torch:compile" in str(found)


@needs_torch
def test_run_benchmark_operator_has_arms():
    pytest.importorskip("mxnet")
    from opperf.utils.benchmark_utils import run_benchmark_operator

    found = run_benchmark_operator("add", (32, 16), among=["numpy", "torch"])
    assert {row.inputs for row in found.rows} == {"x: (32, 16), y: (32, 16)"}
