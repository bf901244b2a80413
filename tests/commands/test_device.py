"""The device has two names wherever it is an option: MXNet's, and the one of other frameworks."""

import pytest

from opperf.commands import COMMANDS
from opperf.opperf import load_command

WITH_DEVICE = {
    name: param
    for name, command in ((name, load_command(name)) for name in COMMANDS)
    for param in command.params
    if {"--ctx", "--device"} & set(param.opts) and name != "param"
}
"""By command. `param` has the options of another program, and `--device` is one of them."""


def test_the_commands_that_measure_have_it():
    assert {"run", "show", "ab"} <= set(WITH_DEVICE)


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_both_spellings_are_one_option(name):
    param = WITH_DEVICE[name]
    assert {"--ctx", "--device"} <= set(param.opts) and param.name == "device"
