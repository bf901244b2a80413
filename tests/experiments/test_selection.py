"""Which records a report is of."""

import pytest

from opperf.errors import UsageError
from opperf.experiments.selection import Selection, only_accelerator
from opperf.models.packages import TIERS
from tests.experiments.lines import record

MODELS = ("hf_T5", "hf_T5_base", "hf_T5_small", "alexnet", "drq")


def names(**options):
    return [one.model_name for one in Selection(**options).of([record(m) for m in MODELS])]


def test_names_are_searched_whatever_the_case_and_joined():
    assert names(filter=("ALEX", "^drq$")) == ["alexnet", "drq"]
    assert names(exclude=("hf_", "dr")) == ["alexnet"]
    assert names(filter=("T5",), exclude=("base",)) == ["hf_T5", "hf_T5_small"]


def test_tiers_match_whole_names_and_join_patterns():
    assert names(filter_by_tier=(1,)) == ["hf_T5", "hf_T5_base"]
    assert names(filter_by_tier=(1,), filter=("alex",)) == ["hf_T5", "hf_T5_base", "alexnet"]
    assert names(exclude_by_tier=(1, 2)) == ["hf_T5_small", "drq"]
    assert names(filter_by_tier=(4,)) == [] and names(exclude_by_tier=(0,)) == list(MODELS)


def test_the_tiers_are_pytorch_xlas():
    assert {tier: len(models) for tier, models in TIERS.items()} == {1: 13, 2: 27, 3: 4}
    assert "detectron2_fasterrcnn_r_101_dc5" in TIERS[2]
    assert "detectron2_maskrcnn_r_50_fpn" in TIERS[2]


def test_an_accelerator_is_a_part_of_its_name_or_its_kind():
    records = [record("a", accelerator_model="One of Tesla V100-SXM2-16GB, ...")]
    records.append(record("b", accelerator_model="NVIDIA A100", test="train"))
    records.append(record("c", accelerator="cpu", accelerator_model="AMD EPYC"))
    found = {word: Selection(word).of(records) for word in ("v100", "A100", "cpu", "h100")}
    assert {word: [one.model_name for one in own] for word, own in found.items()} == {
        "v100": ["a"],
        "A100": ["b"],
        "cpu": ["c"],
        "h100": [],
    }
    assert [one.model_name for one in Selection(test="training").of(records)] == ["b"]
    assert only_accelerator(records) == "v100"
    with pytest.raises(UsageError, match="--accelerator: NVIDIA A100, AMD EPYC"):
        only_accelerator(records[1:])


def test_a_wrong_pattern_is_an_error():
    with pytest.raises(UsageError, match=r"--exclude '\(' is no regular expression"):
        names(exclude=("(",))
