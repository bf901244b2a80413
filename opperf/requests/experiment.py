"""Measures models under combinations of settings: the request of `opperf experiment`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from opperf.declared import PackageOptions
from opperf.errors import UsageError
from opperf.frameworks.mentioned import FrameworkChoice, choose_framework
from opperf.model import DECLARED, Settings
from opperf.models.base import SIZES, find_suite
from opperf.reports.formats import RUN
from opperf.requests.declaring import Option, Say, argument, declared
from opperf.requests.measuring import MeasuringRequest, ResolvedRun
from opperf.requests.operators import ExcludeByTier, ModelExclude, ModelFilter, names_option
from opperf.requests.outputs import file_option, format_option, named_output
from opperf.requests.parsers import Words, split_commas, words_among
from opperf.requests.replays import Dumps
from opperf.requests.selecting import split_sources
from opperf.requests.settings import SettingFields, read_axes
from opperf.requests.xla_runner import RunnerOptions
from opperf.results.settings import PROFILER
from opperf.sources.base import check_own_settings, open_files
from opperf.sources.model_matrix import Matrix
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

ALIASES = {"repeat": "runs", "subprocess_timeout": "timeout_s"}
"""Options of PyTorch/XLA's runner, each with the setting that it sets."""

ERRORS = ("error", "critical")
"""Levels of messages at which only errors are printed."""


read_sizes = words_among(lambda: SIZES)


def split_models(values: Words) -> Words:
    """Splits words at commas, but not within parentheses: `a.py:f(1, 2),opperf`."""
    words: list[str] = []
    for value in values:
        depth, word = 0, ""
        for sign in value:
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth <= 0 and not Path(value).is_file():
                words.append(word)
                word = ""
            else:
                word += sign
        words.append(word)
    return tuple(word.strip() for word in words if word.strip())


def _batch_sizes(values: Words) -> tuple[int, ...]:
    words = split_commas(values)
    for word in words:
        if not word.isdecimal() or int(word) < 1:
            raise ValueError(f"{word!r} is not a number of examples of at least 1")
    return tuple(dict.fromkeys(map(int, words)))


class ExperimentRequest(MeasuringRequest, frozen=True, kw_only=True):
    """Measures models, each under every combination of settings that can be."""

    section: ClassVar[str] = "Cases"

    names: Annotated[tuple[str, ...], argument("[MODEL]...", gather=split_models)] = ()
    filter: ModelFilter = ()
    exclude: ModelExclude = ()
    filter_by_tier: Annotated[
        tuple[int, ...],
        Option("Only models of this tier, 1 to 3, besides those of --filter.", metavar="TIER"),
    ] = ()
    exclude_by_tier: ExcludeByTier = ()
    suites: Annotated[
        tuple[str, ...],
        Option("A suite, as a MODEL names it.", metavar="SUITE", spellings="--suite-name"),
    ] = ()
    torchbench: Annotated[
        Path | None, Option("The suite of TorchBench in this checkout.", metavar="DIR")
    ] = None
    axes_file: Annotated[
        Path | None,
        Option(
            "Axes and models in a file, TOML or YAML: `mode: [eager, compile]` is --mode "
            "eager,compile, which overrides it.",
            section="Axes",
            may_differ=True,
            spellings="--axes",
        ),
    ] = None
    batch_sizes: Annotated[
        tuple[int, ...],
        Option(
            "Examples of a batch.  [default: the model's own]",
            gather=_batch_sizes,
            metavar="N,...",
            section="Axes",
            spellings="--batch-size",
        ),
    ] = ()
    sizes: Annotated[
        tuple[str, ...],
        Option(
            "Sizes of the models: small, default, large.  [default: default]",
            gather=read_sizes,
            metavar="SIZES",
            section="Axes",
            spellings="--size",
        ),
    ] = ()
    axes: Annotated[
        dict[str, tuple[Any, ...]],
        SettingFields(
            (
                *("mode", "device", "dtype", "autocast", "phase", "threads", "env", "options"),
                *("memory_format", "compile_cache", "cache", "profiler", "node"),
            ),
            are_axes=True,
        ),
    ] = {}
    settings: Annotated[
        Settings,
        SettingFields(
            (
                *("precision", "max_time_s", "warmup", "runs", "iterations", "fresh_contents"),
                *("memory", "verify", "verify_iterations", "imports", "seed", "timeout_s"),
            )
        ),
    ] = Settings()
    runner: RunnerOptions = RunnerOptions()
    output_format: Annotated[
        str,
        format_option(
            RUN,
            "jsonl, the run file with every sample; json; md, a page to read; csv; or another "
            "package's.",
            "jsonl",
            "-f --output-format",
        ),
    ] = ""
    output_file: Annotated[
        Path | None,
        file_option(
            "Output file; - prints the output, and messages go to standard error.  "
            "[default: ./experiments.<format>]"
        ),
    ] = None
    dumps: Dumps = Dumps()
    executor: Annotated[
        str,
        Option(
            "What measures the cases: isolated, a process for each; local, processes that many "
            "share; ray, the nodes of a cluster; or another package's.",
            metavar="NAME",
            section="Settings",
            may_differ=True,
        ),
    ] = "isolated"
    frameworks: Annotated[
        tuple[str, ...],
        names_option(
            "Frameworks whose models are measured, one after the other.  [default: that which your "
            "files import; torch with the words of PyTorch/XLA; or else the first installed]",
            spellings="--framework",
        ),
    ] = ()

    @property
    def settled(self) -> ExperimentRequest:
        """With the values of the file of axes and of the runner's options. Raises `UsageError` for
        what is set in two ways."""
        fields = declared(ExperimentRequest)
        found = {} if self.axes_file is None else read_axes(self.axes_file, fields)
        of_file = {name: value for name, value in found.items() if name not in self.given}
        own = {name: value for name, value in of_file.items() if not fields[name].group}
        axes = {name: value for name, value in of_file.items() if fields[name].group == "axes"}
        words = {name: value for name, value in of_file.items() if fields[name].group == "runner"}
        runner = msgspec.structs.replace(self.runner, **words).configured()
        request = msgspec.structs.replace(
            self, **own, axes={**axes, **self.axes}, runner=runner, given=self.given | set(of_file)
        )
        return request._with_model()._with_flags()._with_output()

    def _with_model(self) -> ExperimentRequest:
        model, sizes = self.runner.model, self.runner.batch_sizes
        if model and (self.names or self.suites):
            raise UsageError("--model-config names the model; omit the others")
        return msgspec.structs.replace(
            self, names=model or self.names, batch_sizes=sizes or self.batch_sizes
        )

    def _with_flags(self) -> ExperimentRequest:
        runner, settings, labels = self.runner, {}, dict(self.labels)
        for alias, name in ALIASES.items():
            if alias not in self.given:
                continue
            if name in self.given:
                option = f"--{alias.replace('_', '-')}"
                raise UsageError(f"{option} is {DECLARED[name].option}; use one of them")
            settings[name] = getattr(runner, alias)
        axes = dict(self.axes)
        if runner.flags:
            axes["options"] = tuple({**own, **runner.flags} for own in axes.get("options", ({},)))
        if runner.pure_wall_time:
            if "profiler" in axes:
                raise UsageError("--pure-wall-time is --profiler events; use one of them")
            axes["profiler"] = ("events",)
        axes.setdefault("profiler", (PROFILER,))
        if runner.timestamp is not None:
            labels["timestamp"] = runner.timestamp
        return msgspec.structs.replace(
            self,
            axes=axes,
            labels=labels,
            settings=msgspec.structs.replace(self.settings, **settings),
            given=(self.given | set(settings)) - ALIASES.keys(),
        )

    def _with_output(self) -> ExperimentRequest:
        """Returns the request with the output file of the runner's options, which is resumed
        without --resume, like the runner's. The folder is made, as the runner makes it. Raises
        `OutputError`."""
        runner, resume = self.runner, self.resumption.resume
        if not (runner.output_dirname or runner.output_basename):
            return self
        if self.output_file is not None:
            raise UsageError("--output-dirname and --output-basename are -o; use one of them")
        path = (runner.output_dirname or DIRNAME) / (runner.output_basename or BASENAME)
        if path.is_file() and not (runner.no_resume or self.overwrite):
            resume = "" if resume is None else resume
        if not (self.dry_run or self.list_only):
            from opperf.execution.run_header import make_folder

            make_folder(path)
        resumption = msgspec.structs.replace(self.resumption, resume=resume)
        return msgspec.structs.replace(self, output_file=path, resumption=resumption)

    def choose_framework(self) -> FrameworkChoice:
        """Returns the first framework: the named one, or else that which words and requirements
        mention, that of PyTorch/XLA's words, or the preferred one."""
        named = self.frameworks[0] if self.frameworks else ""
        required = [spec.text for spec in self.environments.requirements]
        choice = choose_framework(named, self.names, self.settings, self.interpreters, required)
        by_words = self.runner.words or self.runner.experiment_config
        if not named and by_words:
            return dataclasses.replace(choice, name="torch")
        return choice

    def _models(self) -> tuple[tuple[ModelWord, ...], tuple[str, ...]]:
        models: list[ModelWord] = []
        names: list[str] = []
        for suite in self.suites:
            find_suite(suite)
        of_folder = [] if self.torchbench is None else [TORCHBENCH]
        for word in dict.fromkeys([*self.names, *self.suites, *of_folder]):
            found = read_word(word)
            if found is None:
                names.append(word)
            else:
                models.append(found)
        return tuple(models), tuple(names)

    def _folders(self) -> dict[str, str]:
        folder = self.torchbench
        if folder is None:
            return {}
        if not folder.is_dir():
            raise UsageError(
                f"--torchbench {folder}: no such folder; name a checkout of TorchBench"
            )
        return {TORCHBENCH: str(folder.resolve())}

    def _words(self) -> dict[str, tuple[str | None, ...]]:
        words = self.runner.words
        for name in words:
            axis, option = INSTEAD.get(name, ("", ""))
            if axis in self.given:
                raise UsageError(f"--{name} and {option} set the same axis; use one of them")
        return words

    def resolve(self, say: Say, command: str) -> ResolvedRun:
        request = self.settled
        choice = request.choose_framework()
        frameworks = tuple(dict.fromkeys(request.frameworks)) or (choice.name,)
        sizes = request.sizes or ("default",)
        request = msgspec.structs.replace(request, frameworks=frameworks, sizes=sizes)
        named = request.output_file, request.output_format, request.resumption
        output = named_output(*named, choice.name, "jsonl", STEM)
        models, names = request._models()
        operators, paths = split_sources(names)
        files = open_files(paths, PackageOptions(request.added))
        words = request._words()
        request.dumps.check(request.axes.get("mode", ()), words, "jax" in frameworks)
        matrix = Matrix(
            frameworks=frameworks,
            models=models,
            filter=request.filter,
            exclude=request.exclude,
            filter_by_tier=request.filter_by_tier,
            exclude_by_tier=request.exclude_by_tier,
            sizes=sizes,
            batch_sizes=request.batch_sizes or (None,),
            folders=request._folders(),
            words=words,
            applies_rules=not request.runner.no_skip,
        )
        selection = Selection(
            patterns=operators,
            ids=request.ids,
            shuffle=request.shuffle,
            rounds=request.rounds,
            dtype_given="dtype" in request.axes,
            partition=request.partition.part,
            settings=request.settings,
        )
        from opperf.execution.experiments import Models

        resolved = request.resolved(
            Models(matrix),
            choice,
            selection,
            output,
            say,
            command,
            paths=paths,
            files=files,
            dumps=request.dumps.names,
            traced_s=request.dumps.traced_s,
            bar=request.runner.progress_bar,
            echo=request.runner.print_subprocess,
            quiet=request.resumption.quiet or request.runner.log_level in ERRORS,
        )
        for path, source in files:
            check_own_settings(path, source, resolved.explicit)
        return resolved
