from opperf.profilers.callgrind import heap
from opperf.runner.health.instructions import instructions_finding


def installed(tmp_path, monkeypatch):
    path = tmp_path / "valgrind"
    path.write_text("#!/bin/sh\necho valgrind-3.19.0\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_without_valgrind_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = instructions_finding()
    assert found.level == "unknown" and "apt-get install valgrind" in found.state


def test_with_valgrind(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch)
    monkeypatch.setattr(heap, "library", lambda: tmp_path)
    assert instructions_finding().state == "valgrind-3.19.0"


def test_without_a_compiler(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch)
    monkeypatch.setenv("CC", "no-such-cc")
    heap.library.cache_clear()
    found = instructions_finding()
    assert found.level == "ok"
    assert found.state == "valgrind-3.19.0, without opperf's allocator: no C compiler no-such-cc"
