"""TorchBench's models, from the folder of a checkout, built as its own users build them."""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import torch
from torch import Tensor

from opperf.decoding import parse_python, read_yaml
from opperf.errors import UnsupportedError, UsageError, one_line
from opperf.frameworks.models import Model
from opperf.frameworks.torch.devices import torch_device
from opperf.frameworks.torch.tensors import tensors
from opperf.models.base import Options, SuiteModel
from opperf.models.packages import check_name, check_size, import_package, tier_of
from opperf.models.torch.build import Draws
from opperf.reading import WRITTEN_BY_HAND, read_bytes

SUITE = "torchbench"

PACKAGE = "torchbenchmark"
"""The package in a checkout, whose folder `models` has a folder for each model."""

INSTALL = "run python install.py"
"""Which installs a model's packages, and its data."""

TESTS = {"predict": "eval", "train": "train"}
"""TorchBench's name of each phase."""

RUNNER_TESTS = {"predict": "inference", "train": "training"}
"""That of PyTorch's runner."""

RUNNERS_FILE = "benchmarks/dynamo/torchbench.yaml"
"""In a checkout of PyTorch: which models PyTorch's runner omits, and its batch sizes."""

CHECKOUTS = (".", "pytorch", "..", "../pytorch", "../../pytorch")
"""Where a checkout of PyTorch is looked for, from that of TorchBench."""

_NAMES = """
    BERT_pytorch LearningToPaint alexnet dcgan demucs densenet121 dlrm fastNLP_Bert hf_T5
    llama_v2_7b_16h mobilenet_v2 phlippe_densenet phlippe_resnet pytorch_stargan resnet18
    shufflenet_v2_x1_0 speech_transformer squeezenet1_1 stable_diffusion_text_encoder
    timm_efficientdet timm_nfnet timm_regnet timm_vision_transformer timm_vovnet vgg16
"""

TRAINED_BY_SGD = frozenset(_NAMES.split())
"""Models for which the runners of PyTorch and PyTorch/XLA use SGD, as the state of Adam takes too
much memory; all others have Adam."""

RATE = 0.01
"""The runners' learning rate."""

INPUTS = {"yolov3": (3, 384, 512)}
"""Shapes of images for models whose own inputs are for a loop of data; the runners have these."""


def models(folder: str) -> Sequence[SuiteModel]:
    """Returns the models of a checkout; none is imported. Raises `UsageError` for another folder,
    and `ImportError` without PyYAML."""
    root = _root(folder)
    return [_listed(path) for path in _paths(root)]


def _root(folder: str) -> Path:
    if not folder:
        raise UsageError(
            "suite torchbench is in a folder: give that of a checkout of github.com/pytorch/"
            "benchmark with --torchbench DIR"
        )
    given = Path(folder).expanduser().resolve()
    for root in (given, given.parent):
        if (root / PACKAGE / "models").is_dir() and given in (root, root / PACKAGE):
            return root
    raise UsageError(
        f"{folder} has no {PACKAGE}/models; give the folder of a checkout of "
        "github.com/pytorch/benchmark"
    )


def _paths(root: Path) -> list[Path]:
    return sorted(file.parent for file in (root / PACKAGE / "models").glob("*/__init__.py"))


def _listed(path: Path) -> SuiteModel:
    exclusions = _read_yaml(path / METADATA, Metadata).not_implemented or []
    excluded = {entry["test"] for entry in exclusions if [*entry] == ["test"]}
    task = _task(path / "__init__.py")
    return SuiteModel(
        path.name,
        phases=tuple(phase for phase, test in TESTS.items() if test not in excluded),
        tags=tuple(task.lower().replace("_", "-").split(".")) if task else (),
        why=f"TorchBench's {path.name}",
        tier=tier_of(path.name),
    )


def _task(file: Path) -> str:
    """Returns what a model says that it does (`NLP.TRANSLATION`), from its source; empty if it
    says nothing, or cannot be parsed."""
    try:
        tree = parse_python(read_bytes(file, WRITTEN_BY_HAND))
    except (OSError, SyntaxError, ValueError):
        # Building it will say what is wrong.
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for line in node.body:
                if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "task":
                    return ast.unparse(line.value)
    return ""


METADATA = "metadata.yaml"


class Metadata(msgspec.Struct, frozen=True):
    """Keys of a model's `metadata.yaml` that are read."""

    not_implemented: list[dict[str, Any]] | None = None
    """Tests and devices together for which it is not."""


class SkippedModels(msgspec.Struct, frozen=True):
    """Models that PyTorch's runner omits."""

    all: Any = None
    device: dict[str, Any] | None = None
    test: dict[str, Any] | None = None
    multiprocess: Any = None


class RunnerLists(msgspec.Struct, frozen=True):
    """Keys of the file of PyTorch's runner that are read."""

    skip: SkippedModels | None = None
    batch_size: dict[str, dict[str, Any] | None] | None = None
    """By test and model."""
    dont_change_batch_size: Any = None


Lists = TypeVar("Lists", Metadata, RunnerLists)


def _read_yaml(file: Path, kind: type[Lists]) -> Lists:
    yaml = import_package("yaml")
    if not file.is_file():
        return kind()
    try:
        content = read_yaml(read_bytes(file, WRITTEN_BY_HAND))
    except yaml.YAMLError as error:
        raise UsageError(one_line(f"{file} is no YAML: {error}")) from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{file}: a mapping is expected, not a {type(content).__name__}")
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}: {error}") from error


def build(name: str, options: Options) -> Model:
    """Returns a model with its inputs, on the device. Raises `UsageError`, and `UnsupportedError`
    for a model that the lists exclude, or whose packages are missing."""
    root = _root(options.folder)
    paths = {path.name: path for path in _paths(root)}
    check_name(SUITE, name, paths)
    check_size(SUITE, name, options.size, ["default"])
    device = torch_device(options.device).type
    runner = _runners_lists(root)
    _check_exclusions(
        name, options.phase, device, _read_yaml(paths[name] / METADATA, Metadata), runner
    )
    with _as_torchbench_runs(root, name):
        made, module, inputs = _made(paths[name], options, device, runner)
    if name in INPUTS:
        inputs = (Draws(options.seed).uniform(made.batch_size, *INPUTS[name]),)
    optimizer = torch.optim.SGD if name in TRAINED_BY_SGD else torch.optim.Adam
    return Model(call=module, inputs=inputs, loss=mean_loss, optimizer=partial(optimizer, lr=RATE))


def _runners_lists(root: Path) -> RunnerLists:
    """Returns the lists of PyTorch's runner, if a checkout of PyTorch is beside TorchBench's."""
    for place in CHECKOUTS:
        file = root / place / RUNNERS_FILE
        if file.is_file():
            return _read_yaml(file, RunnerLists)
    return RunnerLists()


def _flat(listed: Any) -> set[str]:
    if isinstance(listed, list):
        return set().union(*map(_flat, listed))
    return {str(listed)} if listed is not None else set()


def _check_exclusions(
    name: str, phase: str, device: str, metadata: Metadata, runner: RunnerLists
) -> None:
    asked = {"test": TESTS[phase], "device": device}
    for exclusion in metadata.not_implemented or []:
        if all(key in asked and asked[key] == value for key, value in exclusion.items()):
            shown = " and ".join(f"{key} {value}" for key, value in exclusion.items())
            raise UnsupportedError(f"{name} is not implemented for {shown}, says its metadata.yaml")
    skip = runner.skip or SkippedModels()
    lists = {
        "all": skip.all,
        f"device {device}": (skip.device or {}).get(device),
        f"test {RUNNER_TESTS[phase]}": (skip.test or {}).get(RUNNER_TESTS[phase]),
        "multiprocess": skip.multiprocess,
    }
    for shown, names in lists.items():
        if name in _flat(names):
            raise UnsupportedError(
                f"{name} is skipped by PyTorch's runner ({shown} in {RUNNERS_FILE})"
            )


@contextlib.contextmanager
def _as_torchbench_runs(root: Path, name: str) -> Iterator[None]:
    """Runs in the folder of the checkout, and without arguments, as models read files by relative
    paths and some parse the command line; its package seeds by replacing PyTorch's function."""
    loaded = sys.modules.get(PACKAGE)
    if loaded is not None and not Path(str(loaded.__file__)).is_relative_to(root):
        _forget()
    before = Path.cwd(), sys.argv, [*sys.path], torch.manual_seed, torch.is_grad_enabled()
    os.chdir(root)
    sys.argv = [name]
    # Last, as a checkout has modules of common names.
    sys.path.append(str(root))
    try:
        yield
    except SystemExit as error:
        raise UsageError(
            f"{name} ended the program with {error.code!r} when it was built"
        ) from error
    finally:
        folder, sys.argv, sys.path[:], torch.manual_seed, with_gradients = before
        os.chdir(folder)
        torch.set_grad_enabled(with_gradients)


def _forget() -> None:
    for module in [*sys.modules]:
        if module.partition(".")[0] == PACKAGE:
            del sys.modules[module]


def _made(path: Path, options: Options, device: str, runner: RunnerLists) -> tuple[Any, Any, Any]:
    benchmark = _benchmark(path)
    batch_size = _batch_size(path.name, benchmark, options, runner)
    try:
        made = benchmark(test=TESTS[options.phase], device=device, batch_size=batch_size)
        return made, *made.get_module()
    except NotImplementedError as error:
        # How TorchBench says that a model has no such test, device or batch size.
        reason = one_line(str(error)) or "it is not implemented"
        raise UnsupportedError(f"{path.name}: {reason}") from error


def _benchmark(path: Path) -> Any:
    try:
        module = importlib.import_module(f"{PACKAGE}.models.{path.name}")
    except ImportError as error:
        reason = one_line(str(error))
        raise UnsupportedError(
            f"{path.name} cannot be imported: {reason}; {INSTALL} in {path}"
        ) from error
    except SyntaxError as error:
        raise UsageError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    benchmark = getattr(module, "Model", None)
    if benchmark is None:
        raise UnsupportedError(f"{path.name} has no class Model; {INSTALL} in {path}")
    return benchmark


def _batch_size(name: str, benchmark: Any, options: Options, runner: RunnerLists) -> int | None:
    is_fixed = not getattr(benchmark, "ALLOW_CUSTOMIZE_BSIZE", True)
    if is_fixed or name in _flat(runner.dont_change_batch_size):
        if options.batch_size is not None:
            raise UnsupportedError(f"the batch size of {name} is fixed; omit --batch-size")
        return None
    if options.batch_size is not None:
        return options.batch_size
    sizes = (runner.batch_size or {}).get(RUNNER_TESTS[options.phase]) or {}
    return sizes.get(name)


def mean_loss(outputs: Any) -> Tensor:
    """Returns the mean over the outputs of their means, or of the logits alone, as the runners do.
    Raises `UsageError` if no output is of floating-point numbers."""
    found = getattr(outputs, "logits", outputs)
    means = [output.mean() for output in tensors(found) if output.is_floating_point()]
    if not means:
        raise UsageError("no output of the model is of floating-point numbers, of which is a loss")
    return torch.stack(means).mean()
