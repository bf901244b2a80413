"""The options of `run`, as the user gave them, turned into what is selected and how it is run."""

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
from opperf.model import DECLARED, Settings, Status
from opperf.results import output
from opperf.rules.fuzzing import Fuzz
from opperf.sources.base import is_source, open_source
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

STEM = "{framework}_operator_benchmarks"
"""Name of the output file, without its extension."""


@dataclass(frozen=True)
class Options:
    """The options of a run that are not part of what is selected."""

    framework: str
    output: Path
    output_format: str
    overwrite: bool
    resume: Path | None
    list_only: bool
    dry_run: bool
    strict: bool
    quiet: bool
    command: str
    resuming: bool
    retry: frozenset[Status]
    """Statuses of the records whose cases are measured again."""


QUICK: dict[str, Any] = {"warmup": 2, "runs": 20, "max_time_s": 0.1, "configurations": 1}
"""Counts of `--quick`: every operator at its first configuration, a tenth of a second each, so that
a sweep of a whole registry takes minutes. A count that is given stays as it is given."""


def apply_quick(options: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the counts that follow from the ones given."""
    counts = QUICK if options["quick"] else {}
    return {**options, **{name: value for name, value in counts.items() if name not in changed}}


def build_choice(options: Mapping[str, Any]) -> Selection:
    """Which operators, inputs and passes the options choose."""
    return Selection(
        patterns=(*options["names"], *options["ops"]),
        exclude=options["exclude"],
        categories=tuple(word.lower() for word in options["categories"]),
        namespaces=tuple(word.lower() for word in options["namespaces"]),
        size=options["size"].lower(),
        backward=not options["no_backward"],
        configurations=options["configurations"],
    )


def split_sources(words: Iterable[str]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """The names of operators among the words, and the files that hold cases: paths that exist.

    Raises `UsageError` for a file of no known kind, unless its name may be an operator's.
    """
    names: list[str] = []
    files: list[Path] = []
    for word in words:
        path = Path(word)
        if path.is_file() and (not word.isidentifier() or is_source(path)):
            open_source(path)
            files.append(path)
        elif path.suffix in (".json", ".jsonl"):
            raise UsageError(f"{word}: there is no such file")
        elif path.is_dir() and not word.isidentifier():
            raise UsageError(f"{word} is a folder; name a file in it")
        else:
            names.append(word)
    return tuple(names), tuple(files)


def build_selection(options: Mapping[str, Any]) -> Selection:
    """The selection the options describe, its settings without those that are axes."""
    plain = {name: options[name] for name, setting in DECLARED.items() if not setting.axis}
    return msgspec.structs.replace(
        build_choice(options),
        int64_tensor=options["int64_tensor"].lower() == "on",
        shapes=options["shapes"],
        shuffle=options["shuffle"],
        rounds=options["rounds"],
        fuzz=build_fuzz(options),
        ids=options["ids"],
        settings=Settings(**plain),
    )


def build_axes(options: Mapping[str, Any]) -> Axes:
    """The values of every setting that several values may be given for, as far as some are."""
    axes = {
        name: tuple(dict.fromkeys(options[name]))
        for name, setting in DECLARED.items()
        if setting.axis and name not in ("env", "python") and options[name]
    }
    variables = [[(name, value) for value in values] for name, values in options["env"].items()]
    if variables:
        axes["env"] = tuple(dict(chosen) for chosen in itertools.product(*variables))
    labels = tuple(dict.fromkeys(one.label for one in options["python"]))
    if labels:
        axes["python"] = labels
    return axes


def build_fuzz(options: Mapping[str, Any]) -> Fuzz | None:
    """The random shapes the options ask for, if they do.

    Raises `UsageError` for limits that nothing lies between.
    """
    if options["fuzz_shapes"] is None:
        return None
    least, most = options["least_elements"], options["most_elements"]
    if least > most:
        raise UsageError(f"--min-elements {least} is more than --max-elements {most}")
    return Fuzz(count=options["fuzz_shapes"], least=least, most=most)


FUZZED = {"size": "--size", "shapes": "--shape", "configurations": "--max-configs"}
"""Options that say which of a rule's shapes are measured, and are at odds with random ones."""

LIMITS = {"least_elements": "--min-elements", "most_elements": "--max-elements"}
"""Options that are about random shapes only."""


def check_shape_options(changed: Mapping[str, Any]) -> None:
    """Refuse options about shapes that contradict each other.

    Raises `UsageError`.
    """
    fuzzed = "fuzz_shapes" in changed
    for option, shown in (FUZZED if fuzzed else LIMITS).items():
        if option in changed and fuzzed:
            raise UsageError(f"{shown} is about a rule's shapes, --fuzz-shapes draws others")
        if option in changed:
            raise UsageError(f"{shown} is for random shapes; give --fuzz-shapes as well")


def build_options(options: Mapping[str, Any], changed: Mapping[str, Any]) -> Options:
    """The other options, with their defaults filled in; `changed` are those the user gave.

    Raises `UsageError` for those that are at odds.
    """
    output_format = options["output_format"].lower()
    resume = options["resume"]
    stem = Path(STEM.format(framework=options["framework"]))
    if resume and Path(resume).suffix == ".jsonl" and options["output_file"] is None:
        # A run file named alone is where the run goes on, and what other files are called after.
        stem = Path(resume).with_suffix("")
        output_format = output_format if "output_format" in changed else "jsonl"
    path = options["output_file"] or (
        Path(resume)
        if resume and output_format == "jsonl"
        else stem.with_name(f"{stem.name}.{output.FORMATS[output_format].extension}")
    )
    if resume is not None and options["overwrite"]:
        raise UsageError("--resume goes on with a run and --overwrite replaces it; give one")
    if options["retry"] and resume is None:
        raise UsageError("--retry is for a run that is resumed; give --resume as well")
    return Options(
        framework=options["framework"],
        output=path,
        output_format=output_format,
        overwrite=options["overwrite"],
        resuming=resume is not None,
        resume=Path(resume) if resume else None,
        list_only=options["list_only"],
        dry_run=options["dry_run"],
        strict=options["strict"],
        quiet=options["quiet"],
        command=shlex.join(["opperf", *sys.argv[1:]]),
        retry=frozenset(map(Status, options["retry"])),
    )
