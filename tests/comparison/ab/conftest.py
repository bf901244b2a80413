"""Commands of `ab` in the process of a test."""

import pytest

from opperf.opperf import main
from tests.shared_workers import share_arms, sharing


@pytest.fixture
def here(variables, monkeypatch, capsys):
    """Run a command in this process; its workers are processes of their own all the same."""

    def done(folder, *arguments, code=0, **more):
        monkeypatch.chdir(folder)
        for name, value in {**variables, **more}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out, err

    return done


@pytest.fixture(scope="module")
def arm_worker():
    """In place of `Worker`, for the arms that the tests of a module plan."""
    with sharing() as worker:
        yield worker


@pytest.fixture
def planning(monkeypatch, arm_worker):
    """Commands that measure nothing share the workers of their arms."""
    share_arms(monkeypatch, arm_worker)
