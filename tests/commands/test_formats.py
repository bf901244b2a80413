"""Formats of output files, by option or by extension, in every command that writes one."""

import click
import pytest

from opperf import commands
from opperf.errors import UsageError
from opperf.opperf import load_command
from opperf.reports.formats import BUILT_IN, RUN, extensions_of, formats_of
from opperf.requests.outputs import output_of

COMMANDS = [load_command(name) for name in commands.COMMANDS]

BY_NAME = {command.name: command for command in COMMANDS}

REFUSED = (click.BadParameter, UsageError)

FAKE = ("--framework", "fake")

ARGUMENTS = {
    "run": FAKE,
    "list": FAKE,
    "show": ("relu", *FAKE),
    "coverage": FAKE,
    "report": ("a.jsonl",),
    "trace": ("a.json",),
    "compare": ("a.jsonl", "b.jsonl"),
    "explain": ("a.jsonl", "b.jsonl", "relu"),
    "export": ("a.jsonl",),
    "ab": FAKE,
    "nodes": ("a.jsonl",),
}
"""What a command needs besides."""


FORMAT = ("output_format", "output_formats")
"""Of one output file, or of each of several."""


def format_of(params):
    """The format of the only output file."""
    one = params.get("output_format")
    return one or next(iter(params.get("output_formats", ())), None)


def options(name, *words):
    command = BY_NAME[name]
    context = command.make_context(name, [*ARGUMENTS.get(name, ()), *words])
    request = command.request_of(context)
    outputs = getattr(request, "outputs", ())
    output = None if outputs else getattr(request, "output", None)
    if name == "experiment":
        output = output_of(request.output_file, request.output_format, RUN)
    return {
        **context.params,
        "output_format": output and output.format,
        "output_formats": tuple(one.format for one in outputs),
    }


EXTENSIONS = extensions_of({format.name: format for format in BUILT_IN})


def what_of(command):
    """What the command writes, among what formats are declared to write."""
    return getattr(command.kind, "reported", RUN)


WRITING = [
    command
    for command in COMMANDS
    for names in [{param.name for param in command.params}]
    if names & {*FORMAT, "tool"} and names & {"output_file", "output_files"}
    # It has formats of its own.
    if command.name != "aggregate"
]
"""The commands that write files in the formats of `EXTENSIONS`; `plot` has its own."""


def test_these_commands_write_files():
    names = "run experiment list show coverage report trace compare explain export ab nodes bisect"
    names += " runs doctor frameworks versus"
    assert {command.name for command in WRITING} == set(names.split())


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("command", WRITING, ids=lambda command: command.name)
def test_an_extension_is_that_of_a_format_or_refused(command, extension):
    name, what = command.name, what_of(command)
    words = ("-o", f"out{extension}")
    written = extensions_of({one.name: one for one in BUILT_IN if one.writes(what)})
    if name == "export":
        words = (*words, "--to", written[extension].name if extension in written else "bencher")
    if extension in written:
        made = format_of(options(name, *words))
        assert made in (None, written[extension].name)
        return
    with pytest.raises(REFUSED) as refused:
        options(name, *words)
    message = str(refused.value)
    assert f"'out{extension}': {extension} is not an extension of what is written here" in message
    assert ".json" in message and message.endswith("or a name without an extension")


@pytest.mark.parametrize("words", [("-o", "x.md", "-f", "csv"), ("-f", "csv", "-o", "x.md")])
def test_a_format_contradicts_an_extension_in_any_order(words):
    with pytest.raises(REFUSED, match=r"csv contradicts .* file 'x\.md'"):
        options("compare", *words)


@pytest.mark.parametrize("words", [(), ("-o", "-"), ("-o", "report")])
def test_the_default_format_is_that_of_names_without_an_extension(words):
    assert format_of(options("compare", *words)) == "text"
    assert format_of(options("compare", *words, "-f", "md")) == "md"


def test_each_of_several_files_has_the_format_of_its_extension():
    for name in ("compare", "ab"):
        made = options(name, "-o", "a.md", "-o", "b.xml", "-o", "-")
        assert made["output_formats"] == ("md", "junit", "text")
        # The option is for those without an extension.
        assert options(name, "-o", "a.md", "-o", "-", "-f", "csv")["output_formats"] == (
            "md",
            "csv",
        )
        with pytest.raises(REFUSED, match=r"csv contradicts .* file 'a\.md'"):
            options(name, "-o", "a.md", "-o", "b.csv", "-f", "csv")
        with pytest.raises(REFUSED, match=r"a\.md'? is named twice"):
            options(name, "-o", "a.md", "-o", "a.md")


def test_the_report_of_a_session_is_a_run_file():
    assert options("ab", "--report", "s")["report"].name == "s"
    with pytest.raises(REFUSED, match=r"use \.jsonl, or a name without an extension"):
        options("ab", "--report", "s.md")


def test_the_option_knows_every_format():
    for command in WRITING:
        for param in command.params:
            if param.name in (*FORMAT, "tool"):
                assert set(param.type.choices) == set(formats_of(what_of(command)))


def test_an_unknown_format_names_near_ones():
    with pytest.raises(REFUSED, match="'htm-fragment' is not .*did you mean html-frag"):
        options("compare", "-f", "htm-fragment")
    with pytest.raises(REFUSED, match="'svg' is not one of 'text', 'json', 'md'"):
        options("explain", "-f", "svg")


def test_a_format_may_share_an_extension_and_is_then_named():
    assert options("run", "-f", "param", "-o", "x.json")["output_format"] == "param"
    assert options("run", "-o", "x.json")["output_format"] == "json"
    with pytest.raises(UsageError, match="param contradicts the extension"):
        options("run", "-f", "param", "-o", "x.md")
