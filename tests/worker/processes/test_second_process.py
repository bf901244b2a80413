"""Two processes on one run file: the second is refused, whatever it was asked to do with it."""

import time

import pytest

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


@pytest.mark.parametrize("output", [("-f", "jsonl", "-o", "out.jsonl"), ("-o", "out.json")])
def test_a_run_file_that_is_being_written_is_left_to_its_writer(start, folder, tmp_path, output):
    with start("run", "add", "hangs", "--max-configs", "1", "--quiet", *output) as first:
        path = wait_for_a_record("out*.jsonl", tmp_path)
        before = path.read_bytes()
        for more in (
            ((), ("--overwrite",), ("--resume",), ("--dry-run",)) if "-f" in output else ((),)
        ):
            with start("run", "add", *output, *more) as second:
                out, err = second.communicate(timeout=WAIT_S)
            assert (second.returncode, out) == (2, ""), err
            assert " is being written by another opperf; wait for it, or choose another" in err
            assert err.startswith("opperf: ") and path.name in err and err.count("\n") == 1
        with start("run", "add", "--list", *output) as harmless:
            out, err = harmless.communicate(timeout=WAIT_S)
        listed = '{"line":"case",' if "-f" in output else "of 1 operator"
        assert harmless.returncode == 0 and listed in out
        assert first.poll() is None and path.read_bytes() == before
        first.kill()
    assert [found.name for found in folder.iterdir()] == [path.name] * (output[0] == "-f")
