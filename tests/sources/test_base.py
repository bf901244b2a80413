"""Which source a file is for."""

import re

import pytest

from opperf.errors import RunFileError, UsageError
from opperf.model import SCHEMA_VERSION, Case, Header, OperatorTarget, TensorSpec
from opperf.results.runfile import RunWriter
from opperf.sources.base import BUILT_IN, available, is_source, open_source


@pytest.fixture
def run_file(tmp_path):
    cases = [Case(OperatorTarget("fake", name), {"data": TensorSpec((2,))}) for name in "ab"]
    header = Header(schema=SCHEMA_VERSION, started="", options={}, excluded={"mystery": "no rule"})
    path = tmp_path / "run"
    with RunWriter.create(path, header, cases):
        pass
    return path, tuple(cases)


def test_a_run_file_is_known_by_its_content_and_yields_what_was_planned(run_file):
    path, cases = run_file
    assert is_source(path)
    source = open_source(path)
    assert tuple(source.cases()) == cases
    assert source.excluded == {"mystery": "no rule"}


@pytest.mark.parametrize("content", ["", "hello", '{"a": 1}', "import numpy\n"])
def test_another_file_is_refused_with_the_kinds_there_are(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    assert not is_source(path)
    with pytest.raises(
        UsageError, match=re.escape("is not a file of cases that opperf reads: run file")
    ):
        open_source(path)


def test_a_folder_is_no_source(tmp_path):
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        open_source(tmp_path)


def test_a_damaged_run_file_says_where(run_file):
    path, _ = run_file
    path.write_bytes(path.read_bytes().replace(b'"line":"case"', b'"line":"cas"', 1))
    with pytest.raises(RunFileError, match="run:2: "):
        open_source(path)


def test_another_package_may_bring_a_source(tmp_path, monkeypatch):
    """A folder with the metadata of an installed distribution is all that it takes."""
    installed = tmp_path / "toy-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[opperf.sources]\ntoy = toy_source:Toy\n")
    (tmp_path / "toy_source.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    available.cache_clear()
    try:
        (tmp_path / "shapes.toy").write_text("TOY relu 2x3 4x5\n")
        source = open_source(tmp_path / "shapes.toy")
        found = [(case.label, case.arguments["x"].shape) for case in source.cases()]
        assert found == [("relu", (2, 3)), ("relu", (4, 5))]
        assert list(available()) == [*BUILT_IN, "toy"]
    finally:
        available.cache_clear()


def test_a_kind_of_file_that_is_none_is_refused(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "odd", "types:SimpleNamespace")
    available.cache_clear()
    try:
        with pytest.raises(UsageError, match="types:SimpleNamespace, .* is not a FileSource"):
            available()
    finally:
        monkeypatch.undo()
        available.cache_clear()


TOY = """
from opperf.model import Case, OperatorTarget, TensorSpec
from opperf.sources.base import FileSource, Source


class Toy(FileSource):
    name = "toy"

    def recognizes(self, path):
        return path.read_text().startswith("TOY ")

    def open(self, path):
        _, name, *texts = path.read_text().split()
        shapes = [tuple(map(int, text.split("x"))) for text in texts]
        return Source(Case(OperatorTarget("numpy", name), {"x": TensorSpec(s)}) for s in shapes)
"""
