"""The help of commands with many options: examples, and options in sections."""

import re
import shlex

import click
import pytest
from click.testing import CliRunner

from opperf import commands
from opperf.opperf import HELP_WIDTH, cli, load_command
from opperf.requests.declaring import SECTIONS

COMMANDS = [load_command(name) for name in commands.COMMANDS]

BY_NAME = {command.name: command for command in COMMANDS}

WITH_EXAMPLES = ("run", "experiment", "ab", "compare", "list", "show", "aggregate")


def help_of(name, columns):
    done = CliRunner().invoke(cli, [name, "--help"], terminal_width=columns)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_option_is_in_one_section(name):
    command = BY_NAME[name]
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    text = help_of(name, 100)
    titles = [title for title in SECTIONS if f"\n{title}:\n" in text]
    assert len(titles) >= 3 and titles[-1] == "Other options"
    for option in options:
        assert any(option.opts[-1] in line for line in text.splitlines()), option


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_are_three_commands_with_options_that_there_are(name):
    command = BY_NAME[name]
    assert len(command.examples) == 3
    for line in command.examples.values():
        program, called, *words = shlex.split(line)
        assert (program, called) == ("opperf", name)
        for width in (80, 100):
            text = help_of(name, width)
            # A shell joins the lines of one that is split.
            assert line in re.sub(r" \\\n +", " ", text)
            examples = text.partition("Examples:\n")[2].partition("\n\n")[0]
            assert max(map(len, examples.splitlines())) <= width
        context = click.Context(command, info_name=name)
        values, _, _ = command.make_parser(context).parse_args(words)
        assert values


def test_the_help_uses_the_width_up_to_what_can_be_read():
    assert cli.context_settings["max_content_width"] == HELP_WIDTH >= 100
    longest = max(len(line) for line in help_of("run", 78).splitlines())
    assert longest <= 80


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_lines_of_the_help_end_between_words(name):
    for columns in (80, 100):
        narrow = help_of(name, columns)
        assert not re.search(r"\w-$", narrow, re.MULTILINE)
        assert "\N{NON-BREAKING HYPHEN}" not in narrow
