"""Suites whose models are in other packages, or in a folder; and which of their models are
meant, by patterns of names or tiers, as PyTorch/XLA's benchmarks have them."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from opperf.errors import UsageError, one_line, suggest, unknown
from opperf.frameworks.installed import is_installed, package_version
from opperf.frameworks.models import Model
from opperf.matching import BoundedPattern
from opperf.models.base import Options, SuiteModel


class PackageSuite:
    """A suite whose models are listed and built by a module: its functions `models(folder)` and
    `build(name, options)`. The module imports the framework, so that it is imported last."""

    def __init__(self, framework: str, module: str, requirement: str) -> None:
        self.frameworks = (framework,)
        self.requirement = requirement
        self._module = module

    def models(self, framework: str, folder: str) -> Sequence[SuiteModel]:
        """Returns the models. Raises `ImportError` and `UsageError`."""
        found: Sequence[SuiteModel] = importlib.import_module(self._module).models(folder)
        return found

    def build(self, framework: str, name: str, options: Options) -> Model:
        """Returns a model with its inputs, on the CPU and in float32. Raises `ImportError`,
        `UsageError` and `UnsupportedError`."""
        built: Model = importlib.import_module(self._module).build(name, options)
        return built


TORCHVISION = PackageSuite("torch", "opperf.models.torch.torchvision_models", "torchvision")
TIMM = PackageSuite("torch", "opperf.models.torch.timm_models", "timm torchvision")
TRANSFORMERS = PackageSuite("torch", "opperf.models.torch.transformers_models", "transformers")
TORCHBENCH = PackageSuite("torch", "opperf.models.torch.torchbench_models", "pyyaml")
DUMMY = PackageSuite("torch", "opperf.models.torch.dummy", "")
GLUON = PackageSuite("mxnet", "opperf.models.mxnet.model_zoo", "mxnet")


def import_package(name: str, beside: Collection[str] = ()) -> Any:
    """Returns a package, imported. Raises `ImportError` if it is missing, or cannot be imported
    with what is installed `beside` it."""
    loaded = set(sys.modules)
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            raise
        # What was imported before the error would give another error the next time.
        for module in set(sys.modules) - loaded:
            if module.partition(".")[0] == name:
                del sys.modules[module]
        versions = [
            f"{package} {package_version(package)}" for package in filter(is_installed, beside)
        ]
        others = f" beside {' and '.join(versions)}" if versions else ""
        cause = one_line(f"{type(error).__name__}: {error}")
        raise ImportError(
            f"{name} {package_version(name)} cannot be imported{others} ({cause}); use packages "
            "that belong together, by --python in an environment of their own"
        ) from error


BATCHES = {"small": 2, "default": 8, "large": 32}
"""Images at once by the size of a classifier: two at least, as batch normalisation trains on the
spread of values, and a CPU takes seconds for many."""


def check_name(suite: str, name: str, names: Collection[str]) -> None:
    """Raises `UsageError`, with near names, if a suite lacks a model of this name."""
    if name not in names:
        raise UsageError(f"suite {suite} has no model {name!r}{suggest(name, names)}")


def check_size(suite: str, name: str, size: str, sizes: Collection[str]) -> None:
    """Raises `UsageError` if a model of a suite has no such size."""
    if size not in sizes:
        raise unknown("size", size, sizes, f"{name} of suite {suite}")


LINK = re.compile(r"`([^`<]+?)\s*<([^>`]+)>`_*")
"""A link as Sphinx writes it."""

ROLE = re.compile(r":\w+:`[~.]*([^`]+)`|``?([^`]+)``?_*")

LONGEST = 160
"""Characters of the line: more is no longer one in a table."""


def first_sentence(function: Any, otherwise: str) -> str:
    """Returns the first paragraph of a function's docstring in plain text, a link as its text and
    address; `otherwise` without one."""
    text = inspect.getdoc(function) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    plain = LINK.sub(r"\1 (\2)", paragraph)
    plain = ROLE.sub(lambda found: found[1] or found[2], plain).rstrip(" .")
    if not plain:
        return otherwise
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 3] + "..."


_DETECTRON2 = ("101_c4", "101_fpn", "50_c4", "50_fpn")

_WORDS = {
    1: """
        BERT_pytorch cm3leon_generate DALLE2_pytorch dlrm hf_GPT2 hf_GPT2_large GPT_3 hf_T5
        hf_T5_base hf_T5_generate hf_T5_large llama_v2_7b_16h stable_diffusion_xl
    """,
    2: """
        alexnet attention_is_all_you_need_pytorch Background_Matting basic_gnn_gcn basic_gnn_gin
        basic_gnn_sage dcgan densenet121 detectron2_fasterrcnn_r_101_dc5
        detectron2_fasterrcnn_r_50_dc5 detectron2_fcos_r_50_fpn detectron2_maskrcnn fastNLP_Bert
        functorch_dp_cifar10 hf_Albert hf_Bart hf_Bert hf_Bert_large llama
    """,
    3: "doctr_det_predictor doctr_reco_predictor drq functorch_maml_omniglot",
}

TIERS: dict[int, tuple[str, ...]] = {tier: tuple(text.split()) for tier, text in _WORDS.items()}

TIERS[2] += tuple(
    f"detectron2_{network}_r_{name}"
    for network in ("fasterrcnn", "maskrcnn")
    for name in _DETECTRON2
)


def tier_of(name: str) -> int | None:
    """Returns the tier of a model of TorchBench; None of one without a rank."""
    return next((tier for tier, names in TIERS.items() if name in names), None)


NOTHING = r"(?!)"
"""A pattern that no name matches."""


def patterns_of(tiers: Iterable[int]) -> list[str]:
    """Returns a pattern for each tier, which matches its models' whole names, and no name for a
    number that is no tier."""
    return [
        f"^({'|'.join(map(re.escape, TIERS[tier]))})$" if tier in TIERS else NOTHING
        for tier in tiers
    ]


def joined(patterns: Iterable[str], option: str) -> BoundedPattern | None:
    """Returns the pattern that finds any of these, whatever the case; None without any. Raises
    `UsageError` for one that is no regular expression."""
    listed = list(patterns)
    for pattern in listed:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"{option} {pattern!r} is no regular expression: {error}; put a \\ before signs "
                "that are meant as they are"
            ) from error
    return BoundedPattern(re.compile("|".join(listed), re.IGNORECASE)) if listed else None


class Filtering(Protocol):
    """Patterns of names, and tiers, by which models are meant."""

    @property
    def filter(self) -> tuple[str, ...]: ...

    @property
    def exclude(self) -> tuple[str, ...]: ...

    @property
    def filter_by_tier(self) -> tuple[int, ...]: ...

    @property
    def exclude_by_tier(self) -> tuple[int, ...]: ...


class Filter:
    """Selects models by name and tier. Raises `UsageError` for a malformed pattern."""

    def __init__(self, asked: Filtering) -> None:
        self._tiers, self._without = asked.filter_by_tier, asked.exclude_by_tier
        self._wanted = joined((*asked.filter, *patterns_of(self._tiers)), "--filter")
        self._unwanted = joined((*asked.exclude, *patterns_of(self._without)), "--exclude")

    def selects(self, model: SuiteModel) -> bool:
        """Whether a model is wanted: of a name or tier to measure, and of none to exclude."""
        return self.selects_name(model.name, model.tier)

    def selects_name(self, name: str, tier: int | None = None) -> bool:
        """Whether a name is wanted. `tier` is that of a suite that ranks its models itself."""
        by_tier, excluded = (tier is not None and tier in of for of in (self._tiers, self._without))
        wanted = self._wanted is None or by_tier or _finds(self._wanted, name)
        return wanted and not (excluded or _finds(self._unwanted, name))


def _finds(pattern: BoundedPattern | None, name: str) -> bool:
    return pattern is not None and pattern.search(name) is not None
