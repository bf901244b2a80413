"""Suites from texts; a folder of wheels in place of an index, and a cache of the tests' own."""

from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.suites.resolving import resolve
from opperf.suites.system import Machine
from tests.wheels import cache, offline, wheels  # noqa: F401  (fixtures)

MACHINE = Machine(cpu_count=8, gpu_count=2, gpu_bytes=80 * 2**30)


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Returns the suite of a text, beside which are other files by their names."""
    monkeypatch.chdir(tmp_path)

    pytest.importorskip("yaml")

    def made(text, files=None, machine=MACHINE, **options):
        for name, content in {**(files or {}), "suite.yaml": text}.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(content)
        options.setdefault("base", Path("/base"))
        return resolve([Path("suite.yaml")], machine, **options)

    return made


@pytest.fixture
def bench(suite):
    """Returns the bench `b` of a suite."""

    def made(text, **more):
        return {found.name: found for found in suite(text, **more).benches}["b"]

    return made


@pytest.fixture
def refusal(suite):
    """Returns the line that says why a suite does not resolve."""

    def made(text, **more):
        with pytest.raises(UsageError) as raised:
            suite(text, **more)
        (line,) = str(raised.value).splitlines()
        return line

    return made
