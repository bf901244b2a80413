"""The command line: a misspelt command, which is read as an operator of `run`."""

import pytest

from opperf.errors import UnknownOperatorError, UsageError
from opperf.opperf import main

UNKNOWN = "no operator is called {!r}"


@pytest.fixture
def failed(monkeypatch, capsys):
    """The error line of a command line whose `run` fails with this error."""

    def failing(error, *words):
        def run_command(options, changed):
            raise error

        monkeypatch.setattr("opperf.runner.command.run_command", run_command)
        with pytest.raises(SystemExit) as ended:
            main([*words, "--framework", "fake"])
        assert ended.value.code == 2
        return capsys.readouterr().err.removeprefix("opperf: ").rstrip("\n")

    return failing


@pytest.mark.parametrize(
    "word, command", [("comapre", "compare"), ("lsit", "list"), ("exprot", "export")]
)
def test_a_misspelt_command_is_suggested(failed, word, command):
    message = UNKNOWN.format(word)
    line = failed(UnknownOperatorError(message), word, "a", "b")
    assert line == f"{message}; did you mean the command {command}?"


def test_operators_and_the_command_are_one_question(failed):
    error = UnknownOperatorError("no operator is called 'comapre'; did you mean compress?")
    assert failed(error, "comapre").endswith("; did you mean compress, or the command compare?")


def test_a_file_may_be_what_is_wrong(failed):
    error = UsageError("a.json: there is no such file")
    assert failed(error, "comapre", "a.json").endswith("file; did you mean the command compare?")


@pytest.mark.parametrize(
    "error, words",
    [
        (UnknownOperatorError(UNKNOWN.format("rleu")), ["rleu"]),
        (UnknownOperatorError(UNKNOWN.format("other")), ["comapre", "other"]),
        (UnknownOperatorError(UNKNOWN.format("lsit")), ["run", "lsit"]),
        (UsageError("--retry needs --resume"), ["average", "--retry", "failed"]),
    ],
)
def test_no_command_is_suggested_elsewhere(failed, error, words):
    assert failed(error, *words) == str(error)
