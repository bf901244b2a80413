"""Commands of `ab` in the process of a test."""

import pytest

from opperf.opperf import main


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
