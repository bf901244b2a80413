"""Lock files are written beside results, and read again."""

from pathlib import Path

import pytest

from opperf.environments.specification import (
    EnvironmentSpec,
    Locked,
    lock_path,
    lock_text,
    read_lock,
    read_requirements,
)
from opperf.errors import UsageError
from opperf.model import Interpreter

OWN = Interpreter("/usr/bin/python", "own")
FIRST = Interpreter("/a/python", "a", requirements="torch==2.12", packages=("numpy==2.0", "x==1"))
SECOND = Interpreter("/b/python", requirements="numpy<2,scipy", packages=("numpy==1.26",))


def test_the_name_is_beside_the_results():
    assert lock_path(Path("out/relu.jsonl")) == Path("out/relu.lock.json")


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "x.lock.json"
    path.write_bytes(lock_text([OWN, FIRST, SECOND, FIRST]))
    locked = read_lock(path)
    assert locked.packages(read_requirements("torch==2.12")) == FIRST.packages
    # In another order the same is asked for.
    assert locked.packages(read_requirements("scipy,numpy<2")) == SECOND.packages
    with pytest.raises(UsageError, match="has no environment of torch==2.13; it has 2 env.*scipy"):
        locked.packages(read_requirements("torch==2.13"))


def test_a_file_of_requirements_may_be_elsewhere():
    spec = EnvironmentSpec(requirements=("-r /there/resnet/requirements.txt", "numpy"))
    locked = Locked(Path("x"), {"numpy,-r /here/resnet/requirements.txt": ("numpy==2",)})
    assert locked.packages(spec) == ("numpy==2",)
    other = EnvironmentSpec(requirements=("-r /there/gpt/requirements.txt", "numpy"))
    with pytest.raises(UsageError, match="has no environment"):
        locked.packages(other)


def test_the_requirements_of_a_bench_need_not_be_names():
    spec = EnvironmentSpec(requirements=("-e /x", "numpy"))
    assert Locked(Path("x"), {spec.text: ("numpy==2",)}).packages(spec) == ("numpy==2",)


def test_without_environments_there_is_nothing_to_write():
    assert lock_text([OWN]) == lock_text([]) == b""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"torch==2.12\n", "is no lock file"),
        (b"\xff", "is no lock file"),
        (b'{"environments": []}', "is no lock file"),
        (b'{"schema": 9, "environments": []}', "is of version 9; this opperf reads 1"),
        (None, "cannot be read: No such file"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=words) as raised:
        read_lock(path)
    assert "\n" not in str(raised.value)
