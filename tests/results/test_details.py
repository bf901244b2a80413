"""Details of tensors, beside their shapes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opperf.model import Fill, Mapping, Record, TensorSpec
from opperf.reports.run_page import results_text
from opperf.results.details import display_details, tensor_details
from opperf.results.opperf_json import result_of
from opperf.results.text import arguments_text, inputs_text, short_inputs, split_arguments

MakeRecord = Callable[..., Record]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (TensorSpec((2,)), ""),
        (TensorSpec((2,), gradient=True, array_type="np"), ""),
        (TensorSpec((2,), "int32"), "int32"),
        (TensorSpec((2, 3), layout="csr"), "csr"),
        (TensorSpec((2, 3), strides=(1, 2), offset=7), "strides (1, 2) offset 7"),
        (TensorSpec((2, 3), memory_format="channels_last"), "channels_last"),
        (TensorSpec((2, 3), device="gpu(1)", storage="a"), "on gpu(1) storage a"),
        (TensorSpec((2,), fill=Fill("constant", 4.0)), "constant(4)"),
        (TensorSpec((2,), fill=Fill("uniform")), "uniform(0, 1)"),
        (TensorSpec((2,), fill=Fill("uniform", 0.05, 1 / 3)), "uniform(0.05, 0.3333)"),
        (TensorSpec((2,), fill=Fill("normal", 0.0, 0.1)), "normal(0, 0.1)"),
        (TensorSpec((2,), fill=Fill("sequence")), "sequence"),
        (TensorSpec((2,), fill=Fill("literal", data=[1, 2])), "[1, 2]"),
        (TensorSpec((2,), fill=Fill("same", data="weight")), "same as weight"),
        (TensorSpec((2,), fill=Fill("given", digest="12ab")), "given digest 12ab"),
        (TensorSpec((2,), fill=Fill("uniform", of="lhs")), "uniform(0, 1) of lhs"),
    ],
)
def test_all_in_which_tensors_differ_but_their_shapes(spec: TensorSpec, text: str) -> None:
    assert tensor_details(spec, "float32") == text


def test_long_data_have_a_hash() -> None:
    first, second = (
        tensor_details(TensorSpec((99,), fill=Fill("literal", data=[n] * 99)), "float32")
        for n in (1, 2)
    )
    assert first.startswith("literal ") and len(first) < 20 and first != second


def test_the_dtype_of_the_settings_is_not_repeated(make_record: MakeRecord) -> None:
    assert tensor_details(TensorSpec((2,), "float16"), "float16") == ""
    assert tensor_details(TensorSpec((2,)), "float16") == "float32"


CSR = TensorSpec((4, 4), layout="csr")


def test_details_have_their_place(make_record: MakeRecord) -> None:
    record = make_record(
        "add_n",
        grad=CSR,
        alike=(CSR, CSR, CSR),
        mixed=(TensorSpec((4, 4)), CSR),
        entries=Mapping({"a": CSR, "b": 2}),
    )
    found = display_details(record.case)
    assert found == {"grad": "csr", "alike": "csr", "mixed.1": "csr", "entries": "csr"}
    assert inputs_text(record.case) == (
        "data: (1024, 1024), grad: (4, 4) csr, alike: [3 x (4, 4) csr], "
        "mixed: [(4, 4), (4, 4) csr], entries: {a: (4, 4) csr, b: 2}"
    )


def test_results_by_operator_have_them_beside_the_inputs(make_record: MakeRecord) -> None:
    sparse = result_of(make_record(grad=CSR))
    assert sparse["inputs"] == {"data": [1024, 1024], "grad": [4, 4]}
    assert sparse["details"] == {"grad": "csr"}
    assert "details" not in result_of(make_record())
    assert "details" not in result_of(make_record(grad=CSR), {"data": (2,)}), "the caller's own"
    page = results_text({"relu": [sparse]}, {}, make_record().time_kind)
    assert "'grad': [4, 4]}; grad: csr |" in page
    assert arguments_text(sparse["inputs"], sparse["details"]) == (
        "data: (1024, 1024), grad: (4, 4) csr"
    )


def test_a_text_is_split_at_its_arguments() -> None:
    text = "data: (2, 3) uniform(0, 1), sizes: [(1, 2), 3 x (4,)], axis: 1"
    parts = split_arguments(text)
    assert parts == ["data: (2, 3) uniform(0, 1)", "sizes: [(1, 2), 3 x (4,)]", "axis: 1"]
    assert split_arguments("") == [""] and split_arguments("a: )), b: 1") == ["a: ))", "b: 1"]


def shortened(texts: list[str], width: int) -> list[str]:
    short = short_inputs([("op", text) for text in texts], width)
    return [short["op", text] for text in texts]


def test_what_all_cases_have_in_common_goes_first() -> None:
    texts = ["data: (9, 9), weight: (8, 8), axis: 1", "data: (9, 9), weight: (8, 8), axis: 0"]
    assert shortened(texts, 40) == texts
    assert shortened(texts, 25) == ["data: (9, 9), axis: 1, …", "data: (9, 9), axis: 0, …"]
    assert shortened(texts[:1], 25) == ["data: (9, 9), weight:…"]


def test_what_would_look_alike_is_not_cut() -> None:
    texts = ["data: (9, 9), axis: 1", "data: (9, 9), axis: 0", "other: (9, 9), axis: 1"]
    assert shortened(texts, 12) == ["data: (9, 9), axis: 1", texts[1], "other: (9, …"]


def test_operators_do_not_count_for_each_other() -> None:
    short = short_inputs([("a", "data: (9, 9)"), ("b", "data: (9, 8)")], 10)
    assert list(short.values()) == ["data: (9,…", "data: (9,…"]
