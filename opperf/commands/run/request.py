"""Converts the options of `run` into a selection, its axes, and the options of the run itself."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import UsageError
from opperf.model import DECLARED, MAPPINGS, Settings, Status
from opperf.reports.formats import RUN, format_named
from opperf.results.kept import is_name as is_kept_name
from opperf.results.kept_facts import read_facts
from opperf.results.run_files import locate_run
from opperf.rules.fuzzing import Fuzz
from opperf.sources.base import is_source, locate, open_source
from opperf.sources.registry import OWN_DEFAULT
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

STEM = "{framework}_operator_benchmarks"
"""Name of the output file, without its extension."""


@dataclass(frozen=True)
class Options:
    """The options of a run that are not part of its selection."""

    framework: str
    output: Path
    output_format: str
    is_default_output: bool
    """Whether the user named no file for the output."""
    overwrite: bool
    resume: Path | None
    list_only: bool
    lists_lines: bool
    """Whether the list is that of a run file, instead of a table."""
    dry_run: bool
    strict: bool
    quiet: bool
    cpus: str
    executor: str
    columns: tuple[str, ...]
    """Names of the columns of tables; empty for the usual ones."""
    command: str
    resuming: bool
    retry: frozenset[Status]
    """Statuses whose cases are measured again."""


QUICK: dict[str, Any] = {"warmup": 2, "runs": 20, "max_time_s": 0.1, "configurations": 1}
"""Values of `--quick`: one configuration of every operator, a tenth of a second each, so that a
sweep of a whole registry takes minutes."""


def apply_quick(options: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options, with the values of `--quick` for those that the user did not set."""
    quick = QUICK if options["quick"] else {}
    return {**options, **{name: value for name, value in quick.items() if name not in changed}}


def quick_settings(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that `--quick` would set, beside the options that the user set."""
    return {
        name: value
        for name, value in apply_quick({"quick": True}, changed).items()
        if name in DECLARED
    }


def build_choice(options: Mapping[str, Any]) -> Selection:
    """Returns the selection of operators, inputs and passes, without its settings."""
    shapes, swept = split_shapes(options["shapes"])
    return Selection(
        patterns=(*options["names"], *options["ops"]),
        exclude=options["exclude"],
        categories=tuple(word.lower() for word in options["categories"]),
        namespaces=tuple(word.lower() for word in options["namespaces"]),
        tags=tuple(word.lower() for word in options["tags"]),
        variants=tuple(word.lower() for word in options["variants"]),
        size=options["size"].lower(),
        backward=not options["no_backward"],
        configurations=options["configurations"],
        int64_tensor=options["int64_tensor"].lower() == "on",
        fuzz=build_fuzz(options),
        ids=options["ids"],
        shapes=shapes,
        swept_shapes=swept,
        sweeps=options["sweeps"],
        values=options["values"],
        dtype_given=bool(options["dtype"]),
    )


def split_sources(words: Iterable[str]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Splits words into names of operators and existing files of cases.

    Raises `UsageError` for a file of no known kind, unless its name can be an operator's.
    """
    names: list[str] = []
    files: list[Path] = []
    for word in words:
        path = locate_run(word)
        located = path if is_kept_name(word) else locate(word)
        if located is not None:
            open_source(located)
            files.append(located)
        elif path.is_file() and (not word.isidentifier() or is_source(path)):
            open_source(path)
            files.append(path)
        elif path.suffix in (".json", ".jsonl"):
            raise UsageError(f"{word}: no such file")
        elif path.is_dir() and not word.isidentifier():
            raise UsageError(f"{word} is a folder; name a file in it")
        else:
            names.append(word)
    return tuple(names), tuple(files)


def build_common_settings(options: Mapping[str, Any]) -> Settings:
    """Returns the settings of a command in which all cases share one value of each; a device,
    profiler or mode that the user did not choose is empty, and chosen by the framework."""
    values = {name: options[name] for name, setting in DECLARED.items() if setting.common}
    chosen = {name: value for name, value in values.items() if value is not None}
    return Settings(**{**dict.fromkeys(OWN_DEFAULT, ""), **chosen})


def split_shapes(
    shapes: Mapping[str, tuple[int | str, ...]],
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int | str, ...]]]:
    """Splits the user's shapes into those of numbers alone, and those with swept variables."""
    fixed: dict[str, tuple[int, ...]] = {}
    swept: dict[str, tuple[int | str, ...]] = {}
    for name, shape in shapes.items():
        numbers = tuple(extent for extent in shape if isinstance(extent, int))
        if len(numbers) == len(shape):
            fixed[name] = numbers
        else:
            swept[name] = shape
    return fixed, swept


def build_selection(options: Mapping[str, Any]) -> Selection:
    """Returns the selection, with the settings that are not axes."""
    plain = {name: options[name] for name, setting in DECLARED.items() if not setting.axis}
    return msgspec.structs.replace(
        build_choice(options),
        shuffle=options["shuffle"],
        rounds=options["rounds"],
        batch_factor=options["batch_factor"],
        settings=Settings(**plain),
    )


def build_axes(options: Mapping[str, Any]) -> Axes:
    """Returns the axes that the options set, by field of `Settings`."""
    axes = {
        name: tuple(dict.fromkeys(options[name]))
        for name, setting in DECLARED.items()
        if setting.axis and name not in (*MAPPINGS, "python") and options[name]
    }
    for name in MAPPINGS:
        entries = [[(key, value) for value in values] for key, values in options[name].items()]
        if entries:
            axes[name] = tuple(dict(pairs) for pairs in itertools.product(*entries))
    labels = tuple(dict.fromkeys(interpreter.label for interpreter in options["python"]))
    if labels:
        axes["python"] = labels
    return axes


def build_fuzz(options: Mapping[str, Any]) -> Fuzz | None:
    """Returns the random shapes of `--fuzz-shapes`, or None without it.

    Raises `UsageError` for limits with nothing between them.
    """
    if options["fuzz_shapes"] is None:
        return None
    least, most = options["least_elements"], options["most_elements"]
    if least > most:
        raise UsageError(f"--min-elements {least} is more than --max-elements {most}")
    return Fuzz(count=options["fuzz_shapes"], least=least, most=most)


FUZZED = {
    "size": "--size",
    "shapes": "--shape",
    "sweeps": "--sweep",
    "input_function": "--inputs",
}
"""Options for a rule's shapes, which random ones replace."""

MADE = {"size": "--size", "shapes": "--shape"}
"""Options for a rule's shapes, which those of a user's function replace."""

LIMITS = {"least_elements": "--min-elements", "most_elements": "--max-elements"}
"""Options for random shapes only."""


def check_shape_options(changed: Mapping[str, Any]) -> None:
    """Raises `UsageError` for contradictory options on shapes."""
    if "input_function" in changed:
        for option in MADE:
            if option in changed:
                raise UsageError(
                    f"{MADE[option]} has no effect with --inputs, whose function returns the "
                    "shapes; use only one of them"
                )
    fuzzed = "fuzz_shapes" in changed
    for option, shown in (FUZZED if fuzzed else LIMITS).items():
        if option in changed and fuzzed:
            raise UsageError(f"{shown} has no effect with --fuzz-shapes; use only one of them")
        if option in changed:
            raise UsageError(f"{shown} needs --fuzz-shapes")


def build_options(options: Mapping[str, Any], changed: Mapping[str, Any]) -> Options:
    """Returns the options of the run itself. `changed` are those that the user set.

    Raises `UsageError` for contradictory options.
    """
    output_format = options["output_format"]
    resume = options["resume"]
    framework, is_named = options["framework"], bool(resume)
    if resume and is_kept_name(resume):
        resume = str(locate_run(resume))
        if "output_format" in changed:
            # The default output of a run that is called by its id.
            is_named = False
            framework = next(iter(read_facts(Path(resume)).frameworks), framework)
    stem = Path(STEM.format(framework=framework))
    if is_named and Path(resume).suffix == ".jsonl" and options["output_file"] is None:
        # A run file named alone is also the output, or other formats' files are named after it.
        stem = Path(resume).with_suffix("")
        output_format = output_format if "output_format" in changed else "jsonl"
    path = options["output_file"] or (
        Path(resume)
        if is_named and output_format == "jsonl"
        else stem.with_name(f"{stem.name}{format_named(output_format, RUN).extension}")
    )
    if resume is not None and options["overwrite"]:
        raise UsageError("--resume finishes a run and --overwrite replaces it; use one of them")
    if options["retry"] and resume is None:
        raise UsageError("--retry needs --resume")
    return Options(
        framework=options["framework"],
        output=path,
        output_format=output_format,
        is_default_output=options["output_file"] is None and not is_named,
        overwrite=options["overwrite"],
        resuming=resume is not None,
        resume=Path(resume) if resume else None,
        list_only=options["list_only"],
        # A table, if only the output file's name says that it is of lines.
        lists_lines=options["list_only"]
        and output_format == "jsonl"
        and "output_format" in changed,
        dry_run=options["dry_run"],
        strict=options["strict"],
        quiet=options["quiet"],
        cpus=options["cpus"],
        executor=options["executor"],
        columns=options["columns"],
        command=shlex.join(["opperf", *sys.argv[1:]]),
        retry=frozenset(map(Status, options["retry"])),
    )
