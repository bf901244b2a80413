"""Readers of options that several commands have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from opperf.commands.options import take
from opperf.model import DECLARED, Settings
from opperf.requests.declaring import check_excluded, declared
from opperf.requests.operators import Inputs, Operators
from opperf.requests.places import Cluster
from opperf.requests.resuming import NamedOutput, Resumption, named_output
from opperf.requests.selecting import select_inputs
from opperf.sources.resolving import OWN_DEFAULT
from opperf.sources.selecting import Selection


def build_choice(options: Mapping[str, Any]) -> Selection:
    """Returns the selection of operators, inputs and passes, without its settings."""
    return msgspec.structs.replace(
        select_inputs(take(Operators, options), take(Inputs, options)),
        backward=not options["no_backward"],
        ids=options["ids"],
        dtype_given=bool(options["dtype"]),
    )


def read_output(
    options: Mapping[str, Any], given: Collection[str], framework: str, stem: str
) -> tuple[str | None, NamedOutput]:
    """Returns the run file to finish, as `Resumption.run_file` does, and the output of a run, by
    default a run file. Raises `UsageError`."""
    resumption = take(Resumption, options)
    check_excluded({**declared(Resumption), **declared(Cluster)}, given)
    named = options["output_format"] if "output_format" in given else ""
    output = named_output(options["output_file"], named, resumption, framework, "jsonl", stem)
    return resumption.run_file(), output


def build_common_settings(options: Mapping[str, Any]) -> Settings:
    """Returns the settings of a command with one value of each; a device, profiler or mode that the
    user did not choose is empty, and chosen by the framework."""
    values = {name: options[name] for name, setting in DECLARED.items() if setting.common}
    chosen = {name: value for name, value in values.items() if value is not None}
    return Settings(**{**dict.fromkeys(OWN_DEFAULT, ""), **chosen})
