"""Contents of integer tensors in files beside a trace."""

import io
import tarfile

import numpy as np
import pytest

from opperf.model import Fill
from opperf.sources.base import open_source
from tests.traces import making
from tests.traces.making import node, tensor, text

NUMBERS = np.array([7, 3, 41, 12], np.int64)


def trace(offset: int = 0) -> str:
    value = [5, 9, offset, 4, 8, "cuda:0"]
    parts = {"inputs": [tensor(3, 4), value], "types": ["Tensor(float)", "Tensor(long int)"]}
    return text([node(20, "aten::add", 2, making.ADD, shapes=[[8], [4]], **parts)])


def in_folder(tmp_path, content: str, name: str = "t"):
    path = tmp_path / f"{name}.json"
    path.write_text(content)
    folder = tmp_path / f"{name}_resources"
    folder.mkdir()
    (folder / "nid_20_tid_1.dat").write_bytes(NUMBERS.tobytes() + b"odd")
    (folder / "nid_20_tid_0.dat").write_bytes(b"floats are not used")
    return path


def in_folder_of_a_longer_name(tmp_path, content: str):
    return in_folder(tmp_path, content, "job.rank-0")


def in_archive(tmp_path, content: str):
    path = tmp_path / "t.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in (
            ("t.json", content.encode()),
            ("t_resources/nid_20_tid_1.dat", NUMBERS.tobytes()),
            ("other.json", b"{}"),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.parametrize("write", (in_folder, in_folder_of_a_longer_name, in_archive))
@pytest.mark.parametrize("offset, fill", ((0, Fill("integers", 3.0, 42.0)), (1, Fill())))
def test_they_bound_what_is_drawn(tmp_path, write, offset, fill):
    (case,) = open_source(write(tmp_path, trace(offset))).cases()
    assert case.arguments["other"].fill == fill
    assert case.arguments["self"].fill == Fill()


def test_other_files_of_a_folder_are_no_traces(tmp_path):
    (tmp_path / "config.json").write_text('{"a": 1}')
    (tmp_path / "broken.json").write_text('{"nodes')
    in_folder(tmp_path, trace())
    (case,) = open_source(tmp_path).cases()
    assert case.count == 1
