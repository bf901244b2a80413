"""`opperf suite multirun`: a suite run once for each matrix of a system's file."""

from pathlib import Path

import pytest

from opperf.commands.suite.run import multirun
from opperf.errors import OpperfError
from opperf.results.runfile import read_run

NET = """
import json, os, sys
out = os.fdopen(int(os.environ["DATA_FD"]), "w", buffering=1)
size = int(sys.argv[2])
memory = [1000 + 100 * size, 80000]
for number in range(30):
    print(json.dumps({"task": "main", "gpudata": {"0": {"memory": memory, "load": 0.5}}}), file=out)
    print(json.dumps({"task": "train", "rate": 5.0 * size}), file=out)
"""

SUITE = """
net:
  definition: net
  argv: {--batch-size: auto_batch(4)}
  voir: {options: {stop: 5, interval: 10s}}
  max_duration: 60
"""

SYSTEM = """
system: {gpu: {count: 1, capacity: 11000 MiB}}
multirun:
  runs:
    - name: "bs{sizer.batch_size}"
      matrix: {sizer.batch_size: [8, 16], sizer.save: sizes.yaml, sizer.config: sizes.yaml}
    - {name: filled, matrix: {sizer.auto: 1, sizer.multiple: 1, sizer.config: sizes.yaml}}
"""


@pytest.fixture
def run_all(monkeypatch, tmp_path, capsys):
    """Runs the command in a folder with the suite; the exit code, and what was printed."""
    pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "main.py").write_text(NET)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "system.yaml").write_text(SYSTEM)

    def called(*words):
        try:
            given = ["suite.yaml", "--system", "system.yaml", "-o", "runs", "--cpus", "none"]
            code = multirun.main([*given, "--warmup", "2", *words], standalone_mode=False)
        except OpperfError as error:
            return 2, capsys.readouterr().out, str(error)
        return code, *capsys.readouterr()

    return called


def test_each_run_has_its_options_and_later_ones_are_sized_by_earlier_ones(run_all):
    code, out, err = run_all()
    assert code == 0 and err.count("1 size added to sizes.yaml") == 2
    sizes = {}
    for path in Path("runs").glob("*.jsonl"):
        run, _ = read_run(path)
        sizes[path.stem] = run.records[0].case.target.argv[1]
        assert run.header.labels["sizer.config"] == "sizes.yaml"
    assert sizes == {"bs8": "8", "bs16": "16", "filled": "100"}
    table = out.rpartition("Runs\n")[2]
    assert "filled  net      100" in table
    before = read_run(Path("runs/bs8.jsonl"))[0].records
    assert "add --overwrite" in run_all()[2]
    assert run_all("--resume")[0] == 0 and read_run(Path("runs/bs8.jsonl"))[0].records == before


def test_wrong_options_end_it_before_the_first_run(run_all):
    Path("system.yaml").write_text(SYSTEM.replace("sizer.auto: 1", "sizer.aut: 1"))
    code, _, said = run_all()
    assert code == 2 and "did you mean sizer.auto?" in said and not Path("runs").exists()
    Path("system.yaml").write_text(SYSTEM.replace("filled", "'f{time}'"))
    assert "omit --resume" in run_all("--resume")[2]
    Path("system.yaml").write_text(SYSTEM.replace("bs{sizer.batch_size}", "same"))
    assert "two runs are called same" in run_all()[2]
