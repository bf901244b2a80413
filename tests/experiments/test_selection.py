"""Which records a report is of."""

from types import SimpleNamespace

import pytest

from opperf.errors import UsageError
from opperf.experiments.selection import only_accelerator, select
from opperf.models.packages import TIERS, Filter
from tests.experiments.lines import record

MODELS = ("hf_T5", "hf_T5_base", "hf_T5_small", "alexnet", "drq")


RECORDS = [record(model) for model in MODELS]


def names(records=RECORDS, accelerator=None, test=None, **patterns):
    fields = ("filter", "exclude", "filter_by_tier", "exclude_by_tier")
    filter = Filter(SimpleNamespace(**dict.fromkeys(fields, ()) | patterns))
    return [one.model_name for one in select(records, accelerator, test, filter)]


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
    assert {word: names(records, word) for word in ("v100", "A100", "cpu", "h100")} == {
        "v100": ["a"],
        "A100": ["b"],
        "cpu": ["c"],
        "h100": [],
    }
    assert names(records, test="training") == ["b"]
    assert only_accelerator(records) == "v100"
    with pytest.raises(UsageError, match="--accelerator: NVIDIA A100, AMD EPYC"):
        only_accelerator(records[1:])


def test_a_wrong_pattern_is_an_error():
    with pytest.raises(UsageError, match=r"--exclude '\(' is no regular expression"):
        names(exclude=("(",))
