"""What is kept between runs: where, for how long, and what a damaged file costs."""

import os
from pathlib import Path

import pytest

from opperf.execution import paces
from opperf.execution.paces import cache_file, load, store
from opperf.folders import cache_folder


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in opperf's place, whose modules a test may change."""
    folder = tmp_path / "package"
    (folder / "rules").mkdir(parents=True)
    for name in ("__init__.py", "rules/__init__.py", "rules/names.py"):
        (folder / name).write_text("")
        os.utime(folder / name, (1000, 1000))
    monkeypatch.setattr(paces.opperf, "__file__", str(folder / "__init__.py"))
    monkeypatch.setattr(paces, "identity", {"fake": "build 1"}.get)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_a_file_is_of_a_kind_and_of_a_framework(package, tmp_path):
    path = cache_file("registry", "fake")
    assert path.parent == tmp_path / "cache" / "opperf" / "registry"
    assert path.name.startswith("fake-") and path.suffix == ".json"
    assert len(path.stem.removeprefix("fake-")) == 16
    assert cache_file("registry", "fake") == path != cache_file("search", "fake")


def test_without_a_build_to_tell_there_is_no_file(package):
    assert cache_file("registry", "other") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda package, patched: patched.setattr(paces, "identity", {"fake": "build 2"}.get),
        lambda package, patched: patched.setattr(paces.opperf, "__version__", "99"),
        lambda package, patched: os.utime(package / "rules" / "names.py", (1000, 1001)),
        lambda package, patched: (package / "rules" / "more.py").write_text(""),
    ],
    ids=["another build", "another opperf", "a rule was changed", "a rule was added"],
)
def test_what_it_depends_on(package, monkeypatch, change):
    before = cache_file("registry", "fake")
    change(package, monkeypatch)
    assert cache_file("registry", "fake") != before


def test_what_it_does_not_depend_on(package):
    before = cache_file("registry", "fake")
    (package / "rules" / "notes.txt").write_text("newer than any module")
    assert cache_file("registry", "fake") == before


def test_what_was_kept_is_there_again_and_what_was_not_costs_no_warning(tmp_path):
    path = tmp_path / "deep" / "file.json"
    assert load(path, dict[str, int]) == (None, [])
    assert store(path, {"a": 1}, "it") == [] and load(path, dict[str, int]) == ({"a": 1}, [])


def test_what_is_of_another_kind_is_made_again(tmp_path):
    path = tmp_path / "file.json"
    store(path, ["a"], "it")
    value, (warning,) = load(path, dict[str, int])
    assert value is None and warning.startswith(f"{path} cannot be read and is made again: ")


def test_nowhere_is_no_fault():
    assert load(None, int) == (None, []) and store(None, 1, "it") == []


def test_what_cannot_be_kept_is_called_by_its_name(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "below.json"
    assert load(path, int) == (None, [])
    (warning,) = store(path, 1, "the list of operators")
    assert warning.startswith("the list of operators is not cached: ") and "\n" not in warning


def test_the_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("OPPERF_CACHE", "/some/folder")
    assert cache_folder() == Path("/some/folder")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("OPPERF_CACHE", "~/folder")
    assert cache_folder() == Path("/home/somebody/folder")
    monkeypatch.setenv("OPPERF_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert cache_folder() == Path("/some/cache/opperf")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "opperf"
