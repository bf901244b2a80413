"""Readers of options that several commands have."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import Any

from opperf.commands.options import take
from opperf.model import DECLARED, MAPPINGS
from opperf.requests.declaring import check_excluded, declared
from opperf.requests.places import Cluster
from opperf.requests.resuming import NamedOutput, Resumption, named_output
from opperf.sources.varying import Axes, check_combinations


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


def build_axes(options: Mapping[str, Any]) -> Axes:
    """Returns the axes that the options set, by field of `Settings`."""
    axes = {
        name: tuple(dict.fromkeys(options[name]))
        for name, setting in DECLARED.items()
        if setting.axis and name not in (*MAPPINGS, "python") and options.get(name)
    }
    for name in MAPPINGS:
        entries = [[(key, value) for value in values] for key, values in options[name].items()]
        if entries:
            check_combinations(entries)
            axes[name] = tuple(dict(pairs) for pairs in itertools.product(*entries))
    labels = tuple(dict.fromkeys(interpreter.label for interpreter in options["python"]))
    if labels:
        axes["python"] = labels
    check_combinations(axes.values())
    return axes
