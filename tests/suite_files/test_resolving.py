"""Resolution of suite files: merging, inheritance, matrices, references, and their errors."""

import pytest

from opperf.errors import UsageError
from opperf.suite_files.resolving import Options, resolve
from opperf.suite_files.system import Machine

MACHINE = Machine(cpu_count=8, gpu_count=2, gpu_bytes=80 * 2**30)


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Returns the suite of a text, or of several files by name, of which the last is resolved."""
    monkeypatch.chdir(tmp_path)

    def made(text="", files=None, machine=MACHINE, **options):
        for name, content in {**(files or {}), "suite.yaml": text}.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(content)
        from pathlib import Path

        return resolve([Path("suite.yaml")], Options(base=Path("/base"), **options), machine)

    return made


@pytest.fixture
def bench(suite):
    """Returns the only bench of a suite, or that of a name."""

    def made(text, name="", **more):
        by_name = {one.name: one for one in suite(text, **more).benches}
        return by_name[name] if name else next(iter(by_name.values()))

    return made


def refused(suite, text, **more):
    with pytest.raises(UsageError) as raised:
        suite(text, **more)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_a_bench_has_what_it_inherits_at_any_depth_and_star_beats_all(bench):
    found = bench(
        """
_base: {operators: [exp], enabled: false, tags: [b], weight: 1, group: base}
_middle: {inherits: _base, weight: 2, tags: [a]}
one: {inherits: _middle, weight: 3, tags: [c, a]}
"*": {weight: 4}
"""
    )
    assert (found.weight, found.enabled, found.group) == (4, False, "base")
    assert found.tags == ("a", "b", "c")
    assert found.templates == ("_middle", "_base")
    assert str(found.locations["group"]) == "suite.yaml:2: _base.group"
    assert found.locations["weight"].line == 5
