"""The product of axes, the words of PyTorch/XLA, and the rules that remove what cannot be."""

import pytest

from opperf.errors import UsageError
from opperf.execution.experiments import FOREIGN_MODES
from opperf.frameworks import is_available, load
from opperf.model import Settings
from opperf.models.base import SuiteModel
from opperf.models.packages import Filter
from opperf.sources.model_matrix import (
    MODES,
    RULES,
    Experiment,
    Matrix,
    apply_rules,
    experiments,
    read_values,
)
from opperf.sources.models import ModelWord, of_suite


def candidate(name="mlp", **listed):
    (found,) = of_suite("torch", ModelWord("nets", suite="nets"), [SuiteModel(name, **listed)])
    return found


def experiment(words=(), lacking=None, model=None, **settings):
    case = candidate().case(Settings(**settings))
    return Experiment(case, model or candidate(), dict(words), lacking or {})


def removed_by(one):
    kept, removed = apply_rules([one])
    return removed[0].rule if removed else ""


def test_the_product_is_in_order_with_the_phase_inside():
    axes = {"phase": ("predict", "train"), "threads": (1, 2), "mode": ("eager", "jit")}
    points = [point.settings for point in experiments(Matrix(("jax",)), axes)]
    assert [tuple(point[name] for name in ("mode", "phase", "threads")) for point in points] == [
        ("eager", "predict", 1),
        ("eager", "predict", 2),
        ("eager", "train", 1),
        ("eager", "train", 2),
        ("jit", "predict", 1),
        ("jit", "predict", 2),
        ("jit", "train", 1),
        ("jit", "train", 2),
    ]


def test_the_words_of_pytorch_xla_have_its_product_its_order_and_its_rules():
    matrix = Matrix(("torch",), words={"accelerator": ("cpu", "tpu"), "test": ("eval",)})
    points = list(experiments(matrix, {}))
    assert len(points) == 2 * 3 * 3
    assert [
        tuple(point.words[name] for name in ("accelerator", "xla", "dynamo")) for point in points
    ][:4] == [
        ("cpu", None, None),
        ("cpu", None, "inductor"),
        ("cpu", None, "openxla"),
        ("cpu", "PJRT", None),
    ]
    made = [experiment(point.words, **point.settings) for point in points]
    kept, removed = apply_rules(made)
    assert [(case.settings.device, case.settings.mode) for case in kept] == [
        ("cpu", "eager"),
        ("cpu", "compile"),
        ("cpu", "xla"),
        ("cpu", "compile:openxla"),
        ("tpu", "xla"),
        ("tpu", "compile:openxla"),
    ]
    assert {one.rule: one.cases for one in removed} == {
        "openxla-xla": 2,
        "inductor-xla": 3,
        "tpu-xla": 1,
        "xrt": 6,
    }
    assert sum(one.cases for one in removed) + len(kept) == len(points)


def test_what_words_set_of_the_environment_is_for_xla_alone():
    words = {"accelerator": ("cpu",), "test": ("train",), "xla_flags": ("--a=1 --b",)}
    on = {**words, "enable_functionalization": ("true",)}
    (eager, *_), (kept, *_) = (
        [point.settings for point in experiments(Matrix(("torch",), words=one), {})]
        for one in (words, on)
    )
    assert "env" not in eager and eager["phase"] == "train"
    lazy = [
        point.settings["env"]
        for one in (words, on)
        for point in experiments(Matrix(("torch",), words=one), {"env": ({"A": "1"},)})
        if point.words["xla"] == "PJRT" and point.words["dynamo"] is None
    ]
    assert lazy == [
        {
            "PJRT_DEVICE": "CPU",
            "XLA_FLAGS": "--a=1 --b",
            "XLA_DISABLE_FUNCTIONALIZATION": "1",
            "A": "1",
        },
        {"PJRT_DEVICE": "CPU", "XLA_FLAGS": "--a=1 --b", "A": "1"},
    ]
    assert kept["phase"] == "train"


def test_values_of_words_stay_in_the_order_in_which_they_are_named():
    assert read_values("dynamo", ("openxla", "None", "openxla")) == ("openxla", None)
    with pytest.raises(
        UsageError, match="--dynamo inductr: not one of None, inductor, openxla; did"
    ):
        read_values("dynamo", ("inductr",))


@pytest.mark.parametrize(
    "rule, one",
    [
        ("", experiment(mode="compile", autocast="bfloat16")),
        ("autocast-float64", experiment(autocast="bfloat16", dtype="float64")),
        ("graph-cpu", experiment(mode="graph")),
        ("graph-train", experiment(mode="graph", device="gpu(0)", phase="train")),
        ("phase", experiment(phase="train", model=candidate(phases=("predict",)))),
        ("size", experiment(model=candidate(sizes=("small",)))),
        ("cuda-xla", experiment(mode="xla", device="gpu(0)")),
        ("mode", experiment(mode="jit", lacking={("mode", "jit"): "torch has no mode jit"})),
        ("device", experiment(device="gpu(0)", lacking={("device", "gpu(0)"): "no GPU"})),
    ],
)
def test_a_rule_removes_what_cannot_be(rule, one):
    assert removed_by(one) == rule


def test_rules_have_distinct_names_and_reasons():
    assert len({rule.name for rule in RULES}) == len(RULES) == len({rule.why for rule in RULES})


def test_removed_cases_are_counted_by_reason():
    lacking = {("mode", "jit"): "torch has no mode jit"}
    made = [experiment(mode="jit", lacking=lacking, dtype=dtype) for dtype in ("float32", "int8")]
    kept, (one,) = apply_rules([*made, experiment()])
    assert len(kept) == 1
    assert one.text() == "rule mode removed 2 cases: torch has no mode jit"


@pytest.mark.parametrize("framework", sorted({"torch", *FOREIGN_MODES.values()}))
def test_modes_of_other_frameworks_are_those_that_they_have(framework):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    own = {name for name, owner in FOREIGN_MODES.items() if owner == framework}
    assert own == set(load(framework).modes.names) - {"eager"}


def test_models_are_selected_by_name_and_tier():
    def kept(**options):
        selected = Filter(Matrix(("torch",), **options))
        made = [candidate("alexnet"), candidate("hf_Bert"), candidate("mine", tier=1)]
        return [one.listed.name for one in made if selected.selects(one.listed)]

    assert kept() == ["alexnet", "hf_Bert", "mine"]
    assert kept(filter=("BERT", "^alex")) == ["alexnet", "hf_Bert"]
    assert kept(exclude=("bert",)) == ["alexnet", "mine"]
    assert kept(filter_by_tier=(2,)) == ["alexnet", "hf_Bert"]
    assert kept(filter_by_tier=(1,)) == ["mine"]
    assert kept(exclude_by_tier=(1, 2)) == []
    assert kept(filter=("x",), filter_by_tier=(9,)) == ["alexnet"]
    with pytest.raises(UsageError, match="--filter 'a\\('"):
        Filter(Matrix(("torch",), filter=("a(",)))


def test_modes_are_for_every_pair_of_words():
    assert len(MODES) == 6


def test_a_product_of_too_many_settings_is_refused_before_it_is_made():
    axes = {name: tuple(range(3000)) for name in ("threads", "env", "mode", "dtype")}
    with pytest.raises(UsageError, match="81,000,000,000,000 combinations of settings"):
        next(experiments(Matrix(("jax",)), axes))
