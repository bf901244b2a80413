"""The options of PyTorch/XLA's `experiment_runner.py`: its axes, flags and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from opperf.decoding import read_json
from opperf.errors import UsageError, one_line, suggest
from opperf.model.declaring import number_between
from opperf.reading import read_text
from opperf.requests.declaring import Group, Option
from opperf.requests.parsers import Words, split_commas
from opperf.sources.model_matrix import CHOICES, NONE, read_values

RUNNERS_AXES = ("accelerator", "xla", "dynamo", "test", "xla_flags", "torch_xla2")


def _axis(axis: str, help: str, section: str = "Axes") -> Option:
    known = "|".join(NONE if word is None else word for word in CHOICES[axis])

    def parse(values: Words) -> tuple[str | None, ...]:
        split = values if axis == "xla_flags" else split_commas(values)
        try:
            return read_values(axis, split)
        except UsageError as error:
            raise ValueError(str(error).partition(": ")[2]) from error

    return Option(
        help, gather=parse, metavar="FLAGS" if axis == "xla_flags" else known, section=section
    )


Values = tuple[str | None, ...]
"""Of an axis of PyTorch/XLA."""


def _config(what: str) -> Option:
    return Option(
        f"One {what} as the runner writes it, JSON or a file of it.",
        metavar="JSON",
        section="Plan, resumption and exit code",
    )


class RunnerOptions(Group, frozen=True, kw_only=True):
    """Options that PyTorch/XLA's runner has."""

    section: ClassVar[str] = "Axes"

    accelerator: Annotated[
        Values, _axis("accelerator", "PyTorch/XLA's word for --ctx; cuda is gpu.", "Cases")
    ] = ()
    xla: Annotated[
        Values, _axis("xla", "PyTorch/XLA: whether XLA computes, and by which runtime.")
    ] = ()
    dynamo: Annotated[Values, _axis("dynamo", "PyTorch/XLA: dynamo's back end.")] = ()
    test: Annotated[Values, _axis("test", "PyTorch/XLA's word for --phase.", "Cases")] = ()
    xla_flags: Annotated[
        Values, _axis("xla_flags", "PyTorch/XLA: XLA_FLAGS of the processes.")
    ] = ()
    torch_xla2: Annotated[
        Values, _axis("torch_xla2", "PyTorch/XLA: None alone; use --framework jax for the others.")
    ] = ()
    enable_functionalization: Annotated[
        bool, Option("PyTorch/XLA: keep functionalization on; it is off without it.")
    ] = False
    repeat: Annotated[int | None, Option("As --runs.", low=1, section="Time and precision")] = None
    subprocess_timeout: Annotated[
        float | None,
        Option("As --timeout.", number_between(0), metavar="SECONDS", section="Time and precision"),
    ] = None
    output_dirname: Annotated[
        Path | None,
        Option(
            "Folder of --output-basename.  [default: ./output]", metavar="DIR", section="Output"
        ),
    ] = None
    output_basename: Annotated[
        str,
        Option("Output file in it.  [default: results.jsonl]", metavar="NAME", section="Output"),
    ] = ""
    no_resume: Annotated[
        bool,
        Option(
            "Refused where there are records, which are never deleted; see --overwrite.",
            section="Plan, resumption and exit code",
        ),
    ] = False
    no_skip: Annotated[
        bool,
        Option(
            "Measure what rules would remove; it fails as it does.",
            section="Plan, resumption and exit code",
        ),
    ] = False
    timestamp: Annotated[
        str | None,
        Option(
            "A time for the records, as a label of the run.", metavar="SECONDS", section="Output"
        ),
    ] = None
    disable_tf32: Annotated[
        bool,
        Option("Multiply and convolve in full precision on GPUs; as --set of PyTorch's options."),
    ] = False
    matmul_precision: Annotated[
        Literal["default", "high", "highest"],
        Option("Precision of float32 products; as --set torch.set_float32_matmul_precision."),
    ] = "default"
    filter_by_single_graph: Annotated[
        bool,
        Option(
            "Refuse models that torch.compile takes in several graphs; as --set "
            "torch.compile.fullgraph=true."
        ),
    ] = False
    pure_wall_time: Annotated[
        bool, Option("Time between events on a GPU; as --profiler events.")
    ] = False
    print_subprocess: Annotated[
        bool,
        Option(
            "Print what the processes of the cases write.", section="Plan, resumption and exit code"
        ),
    ] = False
    experiment_config: Annotated[str | None, _config("experiment")] = None
    model_config: Annotated[str | None, _config("model")] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error", "critical"],
        Option("What is printed: error and critical are --quiet.", section="Insides"),
    ] = "info"
    progress_bar: Annotated[
        bool, Option("A bar of progress, where there is no terminal too.", section="Output")
    ] = False
    collect_full_output: Annotated[
        bool,
        Option(
            "Accepted; --save-output and --verify have the gradients in any case.",
            section="Insides",
        ),
    ] = False
    collect_dynamo_counters: Annotated[
        bool,
        Option(
            "Accepted; records have graph breaks and recompilations in any case.", section="Insides"
        ),
    ] = False

    @property
    def words(self) -> dict[str, Values]:
        """The axes of PyTorch/XLA that are named. Raises `UsageError` for what opperf does not
        do."""
        words = {name: getattr(self, name) for name in RUNNERS_AXES if getattr(self, name)}
        if self.enable_functionalization:
            words["enable_functionalization"] = ("true",)
        if any(value is not None for value in self.torch_xla2):
            raise UsageError(
                "--torch-xla2: opperf does not convert models of PyTorch to JAX; measure models of "
                "JAX with --framework jax"
            )
        return words

    @property
    def flags(self) -> dict[str, str]:
        """The options of PyTorch that flags set."""
        found: dict[str, str] = {}
        if self.disable_tf32:
            found |= dict.fromkeys(TF32, "false")
        if self.filter_by_single_graph:
            found["torch.compile.fullgraph"] = "true"
        if self.matmul_precision != "default":
            found["torch.set_float32_matmul_precision"] = self.matmul_precision
        return found

    def configured(self) -> RunnerOptions:
        """Returns the options with those of `--experiment-config`. Raises `UsageError` for one that
        cannot be read, or that is beside an option that it sets."""
        if self.experiment_config is None:
            return self
        found: dict[str, Any] = {}
        experiment = read_config(EXPERIMENT, self.experiment_config)
        for axis in CHOICES:
            if getattr(self, axis):
                raise UsageError(f"--experiment-config has {axis}; omit --{axis.replace('_', '-')}")
            # Only what a record may lack has a default.
            value = experiment.get(axis, "cpu" if axis == "accelerator" else None)
            if axis == "enable_functionalization":
                found[axis] = bool(value)
                continue
            text = NONE if value is None else str(value)
            if axis == "test" and value is None:
                text = "eval"
            found[axis] = read_values(axis, (text,))
        # The product of one value each.
        return msgspec.structs.replace(self, **found)

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """The number of examples of `--experiment-config`, if it has one."""
        if self.experiment_config is None:
            return ()
        size = read_config(EXPERIMENT, self.experiment_config).get("batch_size")
        if size is None:
            return ()
        if type(size) is not int or size < 1:
            raise UsageError(f"--experiment-config: batch_size is {size!r}, and no number above 0")
        return (size,)

    @property
    def model(self) -> tuple[str, ...]:
        """The word of the model of `--model-config`, if there is one."""
        if self.model_config is None:
            return ()
        model = read_config(MODEL, self.model_config)
        missing = [key for key in KEYS[MODEL] if not isinstance(model.get(key), str)]
        if missing:
            raise UsageError(f"--model-config: it has no text {missing[0]}")
        return (f"{model['suite_name']}:{model['model_name']}",)


TF32 = ("torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32")
"""Options of PyTorch for TF32."""

EXPERIMENT, MODEL = "experiment_config", "model_config"

IGNORED = ("accelerator_model", "keep_model_data_on_cuda", "outputs_file", "process_env")
"""Keys of an experiment that say nothing of how it is run."""

KEYS = {EXPERIMENT: (*CHOICES, "batch_size", *IGNORED), MODEL: ("suite_name", "model_name")}


def read_config(name: str, text: str) -> Mapping[str, Any]:
    """Returns one of the runner's objects, from JSON or a file. Raises `UsageError`."""
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
