"""The commands on suite files: what they print, and exit codes."""

import json
import shlex

import pytest

from opperf.opperf import main

pytest.importorskip("yaml")

SUITE = """
_t: {tags: [x], weight: 2, argv: {--n: "{n_worker}"}}
sweep:
  inherits: _t
  matrix: {size: [1, 2]}
  job: {name: "s{size}", definition: code, argv: {--size: "{size}"}}
lost: {inherits: _t, definition: none, enabled: false, env: {A: x y}, plan: {method: njobs, n: 2}}
ops:
  operators: [exp, log]
  settings: {framework: numpy, dtype: [float32, float64], max_configs: 1}
  max_duration: 60
net: {model: "opperf:mlp", settings: {framework: [torch, jax], phase: train}}
"""


@pytest.fixture
def opperf(tmp_path, monkeypatch, capsys):
    """Returns the exit code and the outputs of a command in a folder with a suite."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text("")

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(["suite", *words])
        return (ended.value.code or 0, *capsys.readouterr())

    return run


def test_check_says_what_is_there_and_what_is_missing(opperf):
    code, out, _ = opperf("check", "suite.yaml")
    assert code == 1
    assert "5 benches, 4 enabled, 1 template" in out
    assert "none: no such file or folder (lost)" in out
    code, out, _ = opperf("check", "suite.yaml", "--exclude", "lost")
    assert code == 0 and "problem" not in out


def test_list_has_every_bench_that_is_no_template(opperf):
    _, out, _ = opperf("list", "suite.yaml")
    rows = {line.split()[0]: line for line in out.splitlines() if line}
    assert {"s1", "s2", "lost", "ops", "net"} < set(rows) and "_t" not in rows
    assert "size=2" in rows["s2"] and "njobs 2" in rows["lost"] and " no " in rows["lost"]
    _, out, _ = opperf("list", "suite.yaml", "--select", "s*", "--json")
    first, second = json.loads(out)
    assert (first["name"], first["point"], first["enabled"]) == ("s1", {"size": 1}, True)
    assert (second["weight"], second["group"], second["tags"]) == (2.0, "s2", ["x"])


def command_of(out):
    return next(line.strip() for line in out.splitlines() if line.startswith("  "))


def test_show_has_the_command_and_where_values_are_from(opperf, tmp_path):
    _, out, _ = opperf("show", "suite.yaml", "s2", "--override", "s2.argv.--size=9")
    words = shlex.split(command_of(out))
    assert words[:5] == ["cd", str(tmp_path / "code"), "&&", "python", "main.py"]
    assert words[-2:] == ["--size", "9"] and "suite.yaml:2" in out and "--override" in out
    _, out, _ = opperf("show", "suite.yaml", "lost")
    assert "A='x y' python main.py" in out and "not enabled" in out
    assert "2 processes at once" in out


def test_show_of_operators_and_models_is_a_command_of_opperf(opperf, capsys):
    _, out, _ = opperf("show", "suite.yaml", "ops")
    line = command_of(out)
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(line)[1:], "--dry-run"])
    assert not ended.value.code and "float64" in capsys.readouterr().out
    assert "--timeout 60" in line and "--max-configs 1" in line
    _, out, _ = opperf("show", "suite.yaml", "net")
    assert "opperf experiment opperf:mlp --framework torch,jax --phase train" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "suite.yaml", "opps"], "no bench is called opps; did you mean ops?"),
        (["show", "suite.yaml", "_t"], "_t is a template"),
        (["check", "none.yaml"], "none.yaml: it cannot be read"),
        (["chek", "suite.yaml"], "unknown command 'chek'; did you mean check?"),
        (["list", "suite.yaml", "--select", "opps"], "--select opps: no bench"),
        (["list"], "FILE.yaml"),
    ],
)
def test_bad_input_is_one_line(opperf, words, message):
    code, _, err = opperf(*words)
    assert code == 2 and message in err and err.count("\n") == 1
