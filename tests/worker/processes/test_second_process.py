"""Two processes on one run file: the second is refused, whatever it was asked to do with it."""

import time

import pytest

from opperf.opperf import main

WAIT_S = 60
"""How long a process may take to write its first record, on a busy machine."""


def wait_for_a_record(pattern, folder):
    """The run file that is being written, once it has a record."""
    deadline = time.monotonic() + WAIT_S
    while True:
        for path in folder.rglob(pattern):
            if b'{"line":"record"' in path.read_bytes():
                return path
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def second(variables, folder, tmp_path, monkeypatch, capsys):
    """Gives a command in the process of the tests, which is another than that of `start`; its exit
    code, and what it printed."""
    monkeypatch.chdir(folder)
    for name, value in {**variables, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)

    def given(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--framework", "fake"])
        return ended.value.code, *capsys.readouterr()

    return given


@pytest.mark.parametrize("output", [("-f", "jsonl", "-o", "out.jsonl"), ("-o", "out.json")])
def test_a_run_file_that_is_being_written_is_left_to_its_writer(
    start, folder, tmp_path, second, output
):
    with start("run", "add", "hangs", "--max-configs", "1", "--quiet", *output) as first:
        path = wait_for_a_record("out*.jsonl", tmp_path)
        before = path.read_bytes()
        for more in ((), ("--overwrite",), ("--resume",), ("--dry-run",)):
            code, out, err = second("run", "add", *output, *more)
            assert (code, out) == (2, ""), err
            assert " is being written by another opperf; wait for it, or choose another" in err
            assert err.startswith("opperf: ") and path.name in err and err.count("\n") == 1
        code, out, err = second("run", "add", "--list", *output)
        listed = '{"line":"case",' if "-f" in output else "of 1 operator"
        assert code == 0 and listed in out, err
        assert first.poll() is None and path.read_bytes() == before
        first.kill()
    assert [found.name for found in folder.iterdir()] == [path.name] * (output[0] == "-f")
