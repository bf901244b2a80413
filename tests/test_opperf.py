"""The command line: a misspelt command, which is read as an operator of `run`."""

import pytest

from opperf.errors import UnknownOperatorError, UsageError
from opperf.opperf import main

UNKNOWN = "no operator is called {!r}"


@pytest.fixture
def failed(monkeypatch, capsys):
    """The error line of a command line whose `run` fails with this error."""

    def failing(error, *words):
        def run_command(request, finished=None):
            raise error

        monkeypatch.setattr("opperf.commands.running.run_command", run_command)
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
    error = UsageError("a.json: no such file")
    assert failed(error, "comapre", "a.json").endswith("file; did you mean the command compare?")


@pytest.mark.parametrize(
    "error, words",
    [
        (UnknownOperatorError(UNKNOWN.format("conv9d")), ["conv9d"]),
        (UnknownOperatorError(UNKNOWN.format("other")), ["comapre", "other"]),
        (UnknownOperatorError(UNKNOWN.format("lsit")), ["run", "lsit"]),
        (UsageError("--retry needs --resume"), ["average", "--retry", "failed"]),
    ],
)
def test_no_command_is_suggested_elsewhere(failed, error, words):
    assert failed(error, *words) == str(error)


@pytest.fixture
def printed(capsys):
    """What a command line prints and its exit code."""

    def printing(*words):
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        return (ended.value.code, *capsys.readouterr())

    return printing


@pytest.mark.parametrize("width", ["80", "120", "200"])
@pytest.mark.parametrize(
    "words, same",
    [
        (["help"], ["--help"]),
        (["help", "run"], ["run", "--help"]),
        (["help", "ab"], ["ab", "--help"]),
        (["help", "--help"], ["--help"]),
    ],
)
def test_help_is_a_command_too(printed, monkeypatch, width, words, same):
    monkeypatch.setenv("COLUMNS", width)
    code, out, err = printed(*words)
    assert (code, err) == (0, "") and out.startswith("Usage: opperf ")
    assert (code, out, err) == printed(*same)


def test_help_of_no_command_names_near_ones(printed):
    code, out, err = printed("help", "lst")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("opperf: unknown command 'lst'; did you mean list?")


@pytest.mark.parametrize(
    "words, line",
    [
        (["run", "relu", "--dtyp", "f16"], "run has no option --dtyp; did you mean --dtype?"),
        (["--dtyp", "f16"], "run has no option --dtyp; did you mean --dtype?"),
        (["list", "--Categry", "x"], "list has no option --Categry; did you mean --category?"),
        (["show", "relu", "--bogus"], "show has no option --bogus; opperf show --help lists all"),
        (["run", "-z"], "run has no option -z; opperf run --help lists all"),
        (
            ["doctor", "--from-ab", "x"],
            "doctor has no option --from-ab, which compare has; did you mean --format?",
        ),
        (
            ["run", "--categories"],
            "run has no option --categories, which list has; did you mean --category?",
        ),
        (
            ["lsit", "--categories"],
            "run has no option --categories, which list has; did you mean --category, or the "
            "command list?",
        ),
        (
            ["exprot", "a.jsonl", "--to", "bencher"],
            "run has no option --to, which trace, export have; did you mean --total-partitions, or "
            "the command export?",
        ),
    ],
)
def test_a_misspelt_option_is_suggested(printed, words, line):
    assert printed(*words) == (2, "", f"opperf: {line}\n")


@pytest.mark.parametrize(
    "message, words, shown",
    [
        (
            "no operator is called 'simulate'; opperf list prints all operators",
            ("simulate",),
            "there is no command 'simulate' (`opperf --help` lists them), and run, the "
            "default, fails: no operator is called 'simulate'; opperf list prints all operators",
        ),
        (
            "no operator is called 'rleu'; did you mean relu?",
            ("rleu",),
            "no operator is called 'rleu'; did you mean relu?",
        ),
        (
            "no operator is called 'conv9d'; opperf list prints all operators",
            ("conv9d",),
            "no operator is called 'conv9d'; opperf list prints all operators",
        ),
        (
            "no operator is called 'simulate'; opperf list prints all operators",
            ("run", "simulate"),
            "no operator is called 'simulate'; opperf list prints all operators",
        ),
    ],
)
def test_a_word_that_looks_like_a_command_is_not_only_an_operator(failed, message, words, shown):
    assert failed(UnknownOperatorError(message), *words) == shown


def test_options_of_a_command_that_there_is_not_are_no_fault_of_run(printed):
    code, _, err = printed("timeline", "--limit", "5")
    assert code == 2 and err.startswith("opperf: there is no command 'timeline'")


def test_a_word_that_is_no_text_is_refused_in_a_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare", "a\udcff.jsonl", "b.jsonl"])
    assert stop.value.code == 2
    said = (
        "opperf: a\\udcff.jsonl: this word is no text in UTF-8; if it is a file's name, rename it\n"
    )
    assert capsys.readouterr().err == said


def test_a_name_that_is_too_long_for_a_file_is_refused_in_a_line(capsys):
    for words in (["report", "y" * 5000], ["run", "y" * 5000, "--framework", "numpy"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        (line,) = capsys.readouterr().err.splitlines()
        assert ended.value.code == 2 and line.endswith("...: File name too long; name a file")
