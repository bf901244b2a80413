"""One experiment as PyTorch/XLA's runner hands it to a process of its own: two objects of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opperf.decoding import read_json
from opperf.errors import UsageError, one_line, suggest
from opperf.experiments.xla_words import CHOICES, NONE, read_values
from opperf.reading import read_text

EXPERIMENT, MODEL = "experiment_config", "model_config"

IGNORED = ("accelerator_model", "keep_model_data_on_cuda", "outputs_file", "process_env")
"""Keys of an experiment that say nothing of how it is run."""

KEYS = {
    EXPERIMENT: (*CHOICES, "batch_size", *IGNORED),
    MODEL: ("suite_name", "model_name"),
}


def with_configs(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options with those of the runner's objects. Raises `UsageError` for one that
    cannot be read, or that is beside an option that it sets."""
    if options[MODEL] is not None:
        model = _read(MODEL, options[MODEL])
        missing = [key for key in KEYS[MODEL] if not isinstance(model.get(key), str)]
        if missing:
            raise UsageError(f"--model-config: it has no text {missing[0]}")
        if options["names"] or options["suites"]:
            raise UsageError("--model-config names the model; omit the others")
        options = {**options, "names": (f"{model['suite_name']}:{model['model_name']}",)}
    if options[EXPERIMENT] is None:
        return options
    experiment = _read(EXPERIMENT, options[EXPERIMENT])
    for axis in CHOICES:
        if options[axis]:
            raise UsageError(f"--experiment-config has {axis}; omit --{axis.replace('_', '-')}")
        # Only what a record may lack has a default.
        value = experiment.get(axis, "cpu" if axis == "accelerator" else None)
        if axis == "enable_functionalization":
            options[axis] = bool(value)
            continue
        text = NONE if value is None else str(value)
        if axis == "test" and value is None:
            text = "eval"
        options[axis] = read_values(axis, (text,))
    size = experiment.get("batch_size")
    if size is not None:
        if type(size) is not int or size < 1:
            raise UsageError(f"--experiment-config: batch_size is {size!r}, and no number above 0")
        options["batch_sizes"] = (size,)
    # The product of one value each.
    return options


def _read(name: str, text: str) -> Mapping[str, Any]:
    option = f"--{name.replace('_', '-')}"
    where = option
    if not text.lstrip().startswith("{"):
        where = f"{option} {text}"
        try:
            text = read_text(text)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{where}: neither an object of JSON nor a file of one") from error
    try:
        value = read_json(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{where}: it is no JSON: line {error.lineno}: {error.msg}") from error
    except ValueError as error:
        raise UsageError(f"{where}: it is no JSON: {one_line(str(error))}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{where}: it is no object of JSON")
    for key in value:
        if key not in KEYS[name]:
            known = ", ".join(KEYS[name])
            raise UsageError(
                f"{where}: unknown key {key!r}{suggest(key, KEYS[name])}; known: {known}"
            )
    return value
