"""The request of `experiment`, read once from its options."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.commands.common_options import build_axes, read_output
from opperf.commands.environments import with_environments
from opperf.commands.experiment.configs import with_configs
from opperf.commands.experiment.options import ERRORS, RUNNERS_AXES, TEXT
from opperf.commands.options import take
from opperf.errors import UsageError
from opperf.execution.dumps import (
    COUNTERS,
    DUMPS,
    HLO,
    INSIDES,
    IR,
    RESULTS,
    STABLEHLO,
    TRACE,
    XLA_METRICS,
)
from opperf.execution.run_header import make_folder
from opperf.experiments.matrix import Matrix
from opperf.experiments.planning import Models
from opperf.experiments.repeating import PROFILER
from opperf.frameworks.mentioned import FrameworkChoice, mentioned_framework
from opperf.model import DECLARED, DEFAULTS, Settings, Status
from opperf.models.base import find_suite
from opperf.requests.operators import Partition
from opperf.requests.places import Cluster
from opperf.requests.resolved_run import ResolvedRun
from opperf.requests.selecting import split_sources
from opperf.sources.base import check_own_settings, open_files
from opperf.sources.models import ModelWord, read_word
from opperf.sources.selecting import Selection

STEM = "experiments"
"""Of the default output."""

TORCHBENCH = "torchbench"

DIRNAME, BASENAME = Path("output"), "results.jsonl"
"""The runner's own defaults of its options of output."""

INSTEAD = {
    "accelerator": ("device", "--ctx"),
    "xla": ("mode", "--mode"),
    "dynamo": ("mode", "--mode"),
    "test": ("phase", "--phase"),
}
"""PyTorch/XLA's words, each with the axis that it sets and the option of that."""

COPIED = (
    *("labels", "overwrite", "list_only", "dry_run", "strict", "cpus", "columns"),
    "every_node",
)

PROFILES = (
    "dump_pytorch_profiles",
    "profile_xla",
    "profile_cuda_cpu",
    "profile_cuda_cpu_individual_ops",
)
"""PyTorch/XLA's options that ask for a trace."""


MS_PER_S = 1e3

TRACED = (*PROFILES, "insides")
"""Options with which there is a trace."""


def read_request(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> ResolvedRun:
    """Returns the request of the options, of which the user set those of `set_here`. Raises
    `UsageError` for contradictory ones, the errors of files of cases, and `InstallationError`."""
    options = with_aliases(with_configs(dict(options)), set_here)
    explicit = frozenset(set_here) | {name for name in ALIASES.values() if name in options["set"]}
    resume, output = read_output(options, explicit, options["frameworks"][0], STEM)
    models, names = read_words(options)
    operators, paths = split_sources(names)
    files = open_files(paths)
    options, set_here = with_environments(options, set_here)
    explicit |= frozenset(set_here)
    axes = build_axes(options)
    if options["pure_wall_time"]:
        if "profiler" in axes:
            raise UsageError("--pure-wall-time is --profiler events; use one of them")
        axes["profiler"] = ("events",)
    axes.setdefault("profiler", (PROFILER,))
    words = read_runners_axes(options, explicit)
    check_dumps(options, [*axes.get("mode", ()), *words.get("dynamo", ())], words.get("xla", ()))
    for path, source in files:
        check_own_settings(path, source, explicit)
    mention = None if "frameworks" in set_here else mentioned_framework(set_here)
    return ResolvedRun(
        source=Models(read_matrix(options, models, words)),
        framework=FrameworkChoice(
            options["frameworks"][0], "frameworks" in set_here, "python" in set_here, mention
        ),
        selection=build_selection(options, operators),
        axes=axes,
        files=files,
        paths=paths,
        interpreters=options["python"],
        explicit=explicit,
        output=output.path,
        output_format=output.format,
        is_default_output=output.is_default,
        resume=Path(resume) if resume else None,
        resuming=resume is not None,
        retry=frozenset(map(Status, options["retry"])),
        executor=options["executor"],
        cluster=take(Cluster, options).options(options["executor"], explicit),
        command=shlex.join(["opperf", *sys.argv[1:]]),
        dumps=read_dumps(options),
        traced_s=(options["profile_xla_duration_ms"] or 0.0) / MS_PER_S,
        bar=options["progress_bar"],
        echo=options["print_subprocess"],
        quiet=options["quiet"] or options["log_level"] in ERRORS,
        **{name: options[name] for name in COPIED},
    )


def read_matrix(
    options: Mapping[str, Any],
    models: tuple[ModelWord, ...],
    words: dict[str, tuple[str | None, ...]],
) -> Matrix:
    """Returns the models and axes of the options."""
    return Matrix(
        frameworks=options["frameworks"],
        models=models,
        filter=options["filter"],
        exclude=options["exclude"],
        filter_by_tier=options["filter_by_tier"],
        exclude_by_tier=options["exclude_by_tier"],
        sizes=options["sizes"] or ("default",),
        batch_sizes=options["batch_sizes"],
        folders=read_folders(options),
        words=words,
        applies_rules=not options["no_skip"],
    )


ALIASES = {"repeat": "runs", "subprocess_timeout": "timeout_s"}
"""Options of PyTorch/XLA's runner, each with the setting that it sets."""


def with_aliases(options: dict[str, Any], set_here: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with what the runner's words set, and under `set` the names of these.
    Raises `UsageError` for one that is set in both ways."""
    found: set[str] = set()
    for alias, name in ALIASES.items():
        if alias not in set_here:
            continue
        option = f"--{alias.replace('_', '-')}"
        if name in set_here:
            raise UsageError(f"{option} is {DECLARED[name].option}; use one of them")
        options[name] = options[alias]
        found.add(name)
    if options["output_dirname"] or options["output_basename"]:
        if options["output_file"] is not None:
            raise UsageError("--output-dirname and --output-basename are -o; use one of them")
        options.update(runners_output(options))
    options["options"] = {**options["options"], **runners_flags(options)}
    if options["timestamp"] is not None:
        options["labels"] = {**options["labels"], "timestamp": options["timestamp"]}
    return {**options, "set": found}


FLAGS = {
    "disable_tf32": ("torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32"),
    "filter_by_single_graph": ("torch.compile.fullgraph",),
}
"""Flags of the runner, each with the options of PyTorch that it sets."""


def runners_flags(options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Returns the options of PyTorch that the runner's flags set."""
    found: dict[str, tuple[str, ...]] = {}
    if options["disable_tf32"]:
        found |= dict.fromkeys(FLAGS["disable_tf32"], ("false",))
    if options["filter_by_single_graph"]:
        found |= dict.fromkeys(FLAGS["filter_by_single_graph"], ("true",))
    if options["matmul_precision"] != "default":
        found["torch.set_float32_matmul_precision"] = (options["matmul_precision"],)
    return found


def read_dumps(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what is written beside the records."""
    form = options["save_ir_format"]
    asked = {
        TRACE: any(options[name] for name in PROFILES),
        IR: form == TEXT,
        HLO: options["dump_hlo"] or form == HLO,
        STABLEHLO: form == STABLEHLO,
        COUNTERS: options["dump_dynamo_counters"],
        XLA_METRICS: options["dump_pytorch_xla_metrics"],
        RESULTS: options["save_output"],
    }
    return tuple(name for name in DUMPS if asked[name] or (options["insides"] and name in INSIDES))


def check_dumps(
    options: Mapping[str, Any], modes: Sequence[str | None], runtimes: Sequence[str | None]
) -> None:
    """Raises `UsageError` for a dump that nothing of the matrix has. `runtimes` are XLA's."""
    by_torch_xla = any(runtimes) or any(mode and "xla" in mode for mode in modes)
    by_xla = by_torch_xla or "jax" in options["frameworks"]
    form = options["save_ir_format"]
    if options["dump_pytorch_xla_metrics"] and not by_torch_xla:
        raise UsageError("--dump-pytorch-xla-metrics needs torch_xla: add --mode xla")
    if form in (HLO, STABLEHLO) and not by_xla:
        raise UsageError(
            f"--save-ir-format {form} needs torch_xla: add --mode xla, or use --framework jax"
        )
    if options["profile_xla_duration_ms"] and not any(options[name] for name in TRACED):
        raise UsageError("--profile-xla-duration-ms has no effect without --profile-xla")


def runners_output(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the output file of the runner's options, and whether it is resumed, as the runner
    does by itself. The folder is made, as the runner makes it. Raises `OutputError`."""
    folder = options["output_dirname"] or DIRNAME
    path = folder / (options["output_basename"] or BASENAME)
    resume = options["resume"]
    if path.is_file() and not (options["no_resume"] or options["overwrite"]):
        resume = "" if resume is None else resume
    if not (options["dry_run"] or options["list_only"]):
        make_folder(path)
    return {"output_file": path, "resume": resume}


def read_words(options: Mapping[str, Any]) -> tuple[tuple[ModelWord, ...], tuple[str, ...]]:
    """Returns what the words name: models, and what `opperf run` takes. Raises `UsageError`."""
    models: list[ModelWord] = []
    names: list[str] = []
    words = [*options["names"], *options["suites"]]
    if options["torchbench"] is not None:
        words.append(TORCHBENCH)
    for suite in options["suites"]:
        find_suite(suite)
    for word in dict.fromkeys(words):
        found = read_word(word)
        if found is None:
            names.append(word)
        else:
            models.append(found)
    return tuple(models), tuple(names)


def read_folders(options: Mapping[str, Any]) -> dict[str, str]:
    """Returns the folders of suites that have their files in one."""
    folder: Path | None = options["torchbench"]
    if folder is None:
        return {}
    if not folder.is_dir():
        raise UsageError(f"--torchbench {folder}: no such folder; name a checkout of TorchBench")
    return {TORCHBENCH: str(folder.resolve())}


def read_runners_axes(
    options: Mapping[str, Any], explicit: frozenset[str]
) -> dict[str, tuple[str | None, ...]]:
    """Returns the axes of PyTorch/XLA that the user named. Raises `UsageError` for one beside the
    option that it sets."""
    words = {name: options[name] for name in RUNNERS_AXES if options[name]}
    if options["enable_functionalization"]:
        words["enable_functionalization"] = ("true",)
    for name in words:
        axis, option = INSTEAD.get(name, ("", ""))
        if axis in explicit:
            raise UsageError(f"--{name} and {option} set the same axis; use one of them")
    if any(value is not None for value in words.get("torch_xla2", ())):
        raise UsageError(
            "--torch-xla2: opperf does not convert models of PyTorch to JAX; measure models of JAX "
            "with --framework jax"
        )
    return words


def build_selection(options: Mapping[str, Any], operators: tuple[str, ...]) -> Selection:
    """Returns the selection of operators, with the settings that are not axes."""
    plain = {
        name: options.get(name, DEFAULTS[name])
        for name, setting in DECLARED.items()
        if not setting.axis
    }
    return Selection(
        patterns=operators,
        ids=options["ids"],
        shuffle=options["shuffle"],
        rounds=options["rounds"],
        dtype_given=bool(options["dtype"]),
        partition=take(Partition, options).part,
        settings=Settings(**plain),
    )
