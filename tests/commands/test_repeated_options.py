"""Options that are set several times: refused where an option takes one value."""

import click
import pytest

from opperf import commands
from opperf.commands.options import RequestCommand, has_one_value
from opperf.model import DECLARED
from opperf.opperf import load_command
from opperf.requests.declaring import declared
from opperf.requests.parsers import parse_assignments

LOADED = [load_command(name) for name in commands.COMMANDS]

COMMANDS = [
    command
    for loaded in LOADED
    for command in (
        [loaded.get_command(None, name) for name in loaded.list_commands(None)]
        if isinstance(loaded, click.Group)
        else [loaded]
    )
]
"""All commands, those of groups too."""


def parse(command, *words):
    return command.make_context(command.name, list(words))


def test_every_command_refuses_repeated_options():
    assert all(isinstance(command, RequestCommand) for command in COMMANDS)


def refused(command, *words):
    """The message of the refusal of these words; empty if they are accepted."""
    try:
        parse(command, *words)
    except click.UsageError as error:
        return error.format_message()
    return ""


def test_an_option_of_one_value_is_set_once():
    """By its short and long names."""
    said, expected = {}, {}
    for command in COMMANDS:
        for param in filter(has_one_value, command.params):
            for first, second in (param.opts[0], param.opts[-1]), (param.opts[-1],) * 2:
                tried = f"{command.name} {first} {second}"
                said[tried] = refused(command, first, "1", second, "2")
                long = max(first, second, key=len)
                expected[tried] = f"{long} takes one value and is set 2 times; set it once"
    assert said == expected and len(said) > 100


@pytest.mark.parametrize(
    "option, name, values",
    [
        ("--dtype", "dtype", ("float16", "float32")),
        ("--ctx", "device", ("cpu(0)", "gpu(0)")),
        ("-p", "profiler", ("native", "python")),
        ("--cache", "cache", ("hot", "cold")),
        ("--mode", "mode", ("eager", "lazy")),
        ("--phase", "phase", ("train", "predict")),
    ],
)
def test_values_of_an_axis_multiply(option, name, values):
    run = load_command("run")
    words = [word for value in values for word in (option, value)]
    assert parse(run, *words, "--framework", "fake").params[name] == values


def test_threads_of_an_axis_multiply():
    run = load_command("run")
    made = parse(run, "--threads", "2", "--threads", "all", "--framework", "fake")
    assert made.params["threads"] == (2, None)


@pytest.mark.parametrize(
    ("name", "words", "values"),
    [
        ("env", ("A=1|2", "B=x", "A=2", "A=3"), {"A": ("1", "2", "3"), "B": ("x",)}),
        ("env", ("A=True|true",), {"A": ("True", "true")}),
        ("options", ("a.b=True|true|False", "c=High"), {"a.b": ("true", "false"), "c": ("High",)}),
    ],
)
def test_values_of_a_variable_may_be_set_one_by_one(name, words, values):
    assert parse_assignments(DECLARED[name].read)(words) == values


def test_a_repeated_flag_is_one_flag():
    run = load_command("run")
    assert parse(run, "--quiet", "--quiet", "--framework", "fake").params["quiet"] is True


def test_what_is_required_is_asked_for():
    asked = {}
    for command in COMMANDS:
        if isinstance(command, RequestCommand):
            needed = [one for one in declared(command.kind).values() if one.is_required]
            if needed:
                with pytest.raises(click.MissingParameter) as refused:
                    parse(command)
                asked[command.name] = refused.value.param.name in [one.name for one in needed]
    assert all(asked.values()) and {"show", "merge", "export", "trace"} <= asked.keys()


def test_help_is_shown_whatever_else_is_wrong(capsys):
    run = load_command("run")
    with pytest.raises(click.exceptions.Exit):
        parse(run, "-r", "1", "-r", "2", "--help")
    assert "Measure operators" in capsys.readouterr().out
