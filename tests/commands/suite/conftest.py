"""The wheels that environments are installed from, and a suite."""

import pytest

from opperf.opperf import main
from tests.wheels import cache, offline, wheels  # noqa: F401  (fixtures)

SUITE = """\
_scaled:
  install_group: scaled
  definition: bench
  env: {variables: {FACTORS: "two words"}}
one:
  inherits: _scaled
  env: {packages: ["scales==1.0"]}
  argv: {--n: 3}
same:
  inherits: _scaled
  argv: {--n: 3}
other:
  inherits: _scaled
  argv: {--n: 4}
bad:
  operators: [exp]
  env: {packages: ["scales==9"]}
plain:
  operators: [exp]
off:
  operators: [exp]
  enabled: false
  env: {packages: ["scales==8"]}
"""

PREPARE = """\
import os, pathlib, sys
import scales
path = pathlib.Path(os.environ["MILABENCH_DIR_DATA"], "prepared.txt")
with path.open("a") as file:
    print(scales.FACTOR, *sys.argv[1:], os.environ["FACTORS"], file=file)
"""


@pytest.fixture
def here(offline, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)
    bench = tmp_path / "bench"
    bench.mkdir()
    (bench / "main.py").write_text("")
    (bench / "prepare.py").write_text(PREPARE)
    return tmp_path


@pytest.fixture
def opperf(here, capfd):
    def given(*words):
        with pytest.raises(SystemExit) as ended:
            main(["suite", *words])
        out, err = capfd.readouterr()
        return ended.value.code, out, err

    return given
