"""Sparse tensors as models have them, for every kernel that MXNet has for a combination of their
layouts, beside the dense inputs of the operators' own families. Text is a matrix of compressed
rows, a document each; what an embedding of words gets as its gradient has few of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.domains import DOMAINS, FEW_INTEGERS
from opperf.rules.engine import uses_of
from opperf.rules.mxnet.elementwise import OPERATIONS as USES
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    POSITIVE,
    Arguments,
    below,
    between,
    call,
    fixed,
    sparse,
    tensor,
    tensors,
)
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()

CSR, ROWS, DENSE = "csr", "row_sparse", "dense"

INDEX = "int64"
"""Dtype of indices of rows: others would be cast to it first."""

OF_TEXT = 0.01
"""Share of a vocabulary of ten thousand words that a document has."""
OF_ADVERTISING = 0.001
"""Share of the features of a click that are set: ten of ten thousand."""
OF_BATCH = 0.02
"""Share of an embedding's rows that a mini-batch uses: a thousand words of fifty thousand."""
WHOLE = 1.0
"""Of row-sparse weights all rows are stored, as the updates require."""

WIDTH = 128
"""Width of an embedding, and of the first layer of a model of text."""

DOCUMENTS = 1024
FEW_DOCUMENTS = 256
"""Documents of a batch whose dense result has a hundred times as many elements as are stored."""

CLASSES = 16
"""Rows of a dense matrix by which text is multiplied from the left."""


def text_shape(size: Preset, documents: int = DOCUMENTS) -> Shape:
    """Documents by words."""
    return (size.extent(documents), size.extent(10000))


def table_shape(size: Preset) -> Shape:
    """The words of an embedding by their features."""
    return (size.extent(50000), WIDTH)


def text(
    size: Preset, fill: Fill = NORMAL, density: float = OF_TEXT, documents: int = DOCUMENTS
) -> TensorSpec:
    """A batch of bags of words in compressed rows, which are data and take no gradient."""
    shape = text_shape(size, documents)
    return sparse(CSR, *shape, fill=fill, density=density, gradient=False)


def few_texts(size: Preset, fill: Fill = NORMAL) -> TensorSpec:
    """As `text`, for a result that is dense."""
    return text(size, fill, documents=FEW_DOCUMENTS)


def rows(size: Preset, fill: Fill = NORMAL) -> TensorSpec:
    """Some of the rows of an embedding."""
    return sparse(ROWS, *table_shape(size), fill=fill, density=OF_BATCH, gradient=False)


MAKERS = {CSR: text, ROWS: rows}
OF_DENSE_RESULT = {CSR: few_texts, ROWS: rows}

WHYS = {CSR: "bags of words in compressed rows", ROWS: "the rows of an embedding that a batch uses"}

NONE, OWN = "none", ""
"""Stand for no gradient, and for one of the tensor's own layout, where others are a layout's name.
A gradient of a sparse tensor is measured where MXNet has a kernel for it: it computes any other one
of tensors that it makes dense first, which tells nothing of the operator."""


def differentiated(spec: TensorSpec, layout: str) -> TensorSpec:
    """The tensor with a gradient of a layout, or with none."""
    own = "" if layout in (NONE, OWN) else layout
    return msgspec.structs.replace(spec, gradient=layout != NONE, gradient_layout=own)


def domain(operator: Operator) -> Fill:
    """The fill of an operator's one tensor."""
    if operator.name == "_equal_scalar":
        return FEW_INTEGERS
    operations = [use.operation for use, _ in uses_of(operator, USES)]
    return DOMAINS.get(operations[0], NORMAL) if operations else NORMAL


class Unary(NamedTuple):
    """Further arguments of an operator of one sparse tensor, and the layouts of its gradients."""

    values: Arguments = {}
    of_rows: str = OWN
    of_csr: str = OWN


SMOOTH = Unary(of_rows=DENSE, of_csr=NONE)
"""The gradient of rows is dense."""
CONSTANT = Unary(of_rows=NONE, of_csr=NONE)
"""The gradient is zero or has no kernel, or is infinite at zero."""


def compared(scalar: float) -> Unary:
    """A comparison with a number, of which zero gives zero, so that the result is as sparse."""
    return CONSTANT._replace(values={"scalar": scalar})


HALF: Arguments = {"scalar": 0.5}

OF_ONE: dict[str, Unary] = {
    **dict.fromkeys(("abs", "identity", "negative", "relu", "square"), Unary()),
    **dict.fromkeys(("_contrib_round_ste", "_contrib_sign_ste"), Unary()),
    **dict.fromkeys(("arcsin", "arcsinh", "arctan", "arctanh", "degrees"), SMOOTH),
    **dict.fromkeys(("expm1", "log1p", "radians", "sin", "sinh", "tan", "tanh"), SMOOTH),
    **dict.fromkeys(("BlockGrad", "ceil", "fix", "floor", "make_loss", "rint"), CONSTANT),
    **dict.fromkeys(("round", "sign", "trunc", "zeros_like"), CONSTANT),
    **dict.fromkeys(("cbrt", "sqrt"), CONSTANT),
    "clip": CONSTANT._replace(values={"a_min": -1.0, "a_max": 1.0}),
    **dict.fromkeys(("_contrib_gradientmultiplier", "_div_scalar", "_mul_scalar"), Unary(HALF)),
    "_equal_scalar": compared(1.0),
    **dict.fromkeys(("_greater_scalar", "_greater_equal_scalar"), compared(0.5)),
    **dict.fromkeys(("_lesser_scalar", "_lesser_equal_scalar"), compared(-0.5)),
    "_not_equal_scalar": compared(0.0),
    # The result is dense.
    **dict.fromkeys(("_plus_scalar", "_minus_scalar"), Unary(HALF, DENSE, DENSE)),
    # The number is added where something is stored.
    **dict.fromkeys(("_scatter_plus_scalar", "_scatter_minus_scalar"), Unary(HALF)),
}
"""Operators with kernels for one sparse tensor of either layout."""


@FAMILIES.also(*OF_ONE)
def sparse_unary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A sparse tensor, of which the stored values are computed."""
    one = next(OF_ONE[name] for name in operator.names if name in OF_ONE)
    makers = OF_DENSE_RESULT if one.of_csr == DENSE else MAKERS
    for layout, gradient in ((CSR, one.of_csr), (ROWS, one.of_rows)):
        made = differentiated(makers[layout](size, domain(operator)), gradient)
        yield {operator.tensors[0].name: made, **one.values, WHY: WHYS[layout]}


class Binary(NamedTuple):
    """Pairs of layouts with kernels, in any order, the layout of their gradients, and fills."""

    kernels: tuple[tuple[str, str, str], ...]
    left: Fill = NORMAL
    right: Fill = NORMAL


def alike(of_rows: str, of_csr: str) -> tuple[tuple[str, str, str], ...]:
    """Two tensors of one sparse layout."""
    return ((ROWS, ROWS, of_rows), (CSR, CSR, of_csr))


def beside_dense(gradient: str) -> tuple[tuple[str, str, str], ...]:
    """A sparse tensor and a dense one."""
    return ((ROWS, DENSE, gradient), (CSR, DENSE, gradient))


OF_TWO: dict[str, Binary] = {
    **dict.fromkeys(
        ("elemwise_add", "elemwise_sub"), Binary(alike(OWN, OWN) + beside_dense(DENSE))
    ),
    "elemwise_mul": Binary((*alike(OWN, NONE), *beside_dense(NONE))),
    # Division by what is not stored is division by zero.
    "elemwise_div": Binary(beside_dense(NONE), right=POSITIVE),
    "_scatter_elemwise_div": Binary(((ROWS, DENSE, NONE),), right=POSITIVE),
    **dict.fromkeys(("_maximum", "_minimum", "_hypot", "_grad_add"), Binary(alike(NONE, NONE))),
    "_power": Binary(beside_dense(NONE), POSITIVE, between(1.5, 3.0)),
    "_identity_with_attr_like_rhs": Binary(alike(OWN, OWN)),
}
"""Operators with kernels for two tensors of one shape."""

UNUSED = frozenset({"_identity_with_attr_like_rhs"})
"""Of these, operators that use only the layout of the second."""


@FAMILIES.also(*OF_TWO)
def sparse_pairs(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of one shape, both sparse or one of them."""
    pair = next(OF_TWO[name] for name in operator.names if name in OF_TWO)
    one, other = (parameter.name for parameter in operator.tensors)
    for left, right, gradient in pair.kernels:
        makers = OF_DENSE_RESULT if right == DENSE else MAKERS
        first = makers[left](size, pair.left)
        dense = tensor(*first.shape, fill=pair.right)
        second = dense if right == DENSE else MAKERS[right](size, pair.right)
        of_second = NONE if operator.name in UNUSED else gradient
        made = {one: differentiated(first, gradient), other: differentiated(second, of_second)}
        more = "as many more" if left == right else "a dense tensor"
        yield {**made, WHY: f"{WHYS[left]}, and {more}"}


@FAMILIES.also("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div")
def sparse_broadcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Text, and a row of one number for each word, by which it is scaled or shifted."""
    scales = operator.name in ("broadcast_mul", "broadcast_div")
    fill, gradient = (POSITIVE, NONE) if scales else (NORMAL, DENSE)
    _, words = text_shape(size)
    why = "text scaled word by word, as tf-idf" if scales else "text shifted to a mean of zero"
    lhs = differentiated(text(size) if scales else few_texts(size), gradient)
    yield {"lhs": lhs, "rhs": differentiated(tensor(1, words, fill=fill), gradient), WHY: why}


@FAMILIES.also("dot")
def sparse_dot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Text by dense weights, as the first layer of a linear or a factorisation model."""
    documents, words = text_shape(size)
    weight = differentiated(tensor(words, WIDTH), ROWS)
    result = tensor(documents, WIDTH)
    stored = sparse(ROWS, words, WIDTH, density=WHOLE)
    few = differentiated(sparse(ROWS, documents, WIDTH, density=OF_BATCH), DENSE)
    left: Arguments = {"transpose_a": True}
    by_rows: Arguments = {**left, "forward_stype": ROWS}
    dense: Arguments = {"forward_stype": "default"}
    text_1, clicks = text(size), text(size, density=OF_ADVERTISING)
    mixes = fixed(CLASSES, documents)
    gradient = "the gradient of the weights"
    for lhs, rhs, values, why in (
        (text_1, weight, {}, "text at 1 %, by the first layer's weights"),
        (text_1, result, left, f"text at 1 %, transposed: {gradient}"),
        (clicks, weight, {}, "clicks at 0.1 %, by the first layer's weights"),
        (clicks, result, left, f"clicks at 0.1 %, transposed: {gradient}"),
        (text_1, result, by_rows, f"{gradient}, stored as the rows of words that occur"),
        (text_1, stored, {}, "row-sparse weights, as a parameter server sends them"),
        (text_1, few, by_rows, f"{gradient}, from the gradient of few documents"),
        (mixes, text_1, {"forward_stype": CSR}, "mixes of documents, in compressed rows"),
        (mixes, text_1, dense, "mixes of documents, as a dense matrix"),
        (fixed(CLASSES, words), text_1, {"transpose_b": True, **dense}, "few classes by documents"),
    ):
        yield {"lhs": lhs, "rhs": rhs, **values, WHY: why}


@FAMILIES.also("Embedding", "_contrib_SparseEmbedding")
def sparse_embedding(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Words, and an embedding whose gradient has only their rows."""
    count, width = table_shape(size)
    words: Arguments = {"data": fixed(size.extent(32), 32, fill=below(count), dtype="int32")}
    values: Arguments = {"input_dim": count, "output_dim": width}
    if operator.name == "Embedding":
        weight = differentiated(tensor(count, width), ROWS)
        wanted: Arguments = {"weight": weight, "sparse_grad": True}
        yield {**words, **values, **wanted, WHY: "an embedding with sparse gradients"}
    # Of row-sparse weights only the operator of its own has a gradient.
    gradient = OWN if operator.name == "_contrib_SparseEmbedding" else NONE
    stored = differentiated(sparse(ROWS, count, width, density=WHOLE), gradient)
    yield {**words, "weight": stored, **values, WHY: "row-sparse weights of an embedding"}


ONE_ROW: dict[str, Row] = {
    "add_n": lambda size: {
        "args": tensors([differentiated(rows(size), OWN)] * LIST_LENGTH),
        WHY: "row-sparse gradients of an embedding used in several places",
    },
    "Concat": lambda size: {"data": (text(size),) * LIST_LENGTH, "dim": 0, WHY: "joined documents"},
    "take": lambda size: {
        "a": text(size),
        "indices": fixed(size.extent(256), fill=below(text_shape(size)[0]), dtype=INDEX),
        "axis": 0,
        WHY: "a mini-batch of documents, drawn at random",
    },
    "where": lambda size: {
        "condition": few_texts(size, BOOLEAN),
        "x": tensor(*text_shape(size, FEW_DOCUMENTS)),
        "y": tensor(*text_shape(size, FEW_DOCUMENTS)),
        WHY: "a sparse condition, which holds for few words of each document",
    },
    "FullyConnected": lambda size: {
        "data": fixed(size.batch, WIDTH),
        "weight": differentiated(sparse(ROWS, size.extent(1024), WIDTH, density=WHOLE), NONE),
        "bias": differentiated(sparse(ROWS, size.extent(1024), density=WHOLE), NONE),
        "num_hidden": size.extent(1024),
        "flatten": True,
        WHY: "row-sparse weights of a wide layer, as a parameter server sends them",
    },
}
add_rows(FAMILIES.also, ONE_ROW)


def middle_of(size: Preset, axes: int) -> Arguments:
    """The middle half of the first axes."""
    extents = text_shape(size)[:axes]
    begin, end = tuple(n // 4 for n in extents), tuple(3 * n // 4 for n in extents)
    return {"data": text(size), "begin": begin, "end": end}


VARIANTS: dict[str, Variants] = {
    "slice": lambda size: {
        "a batch of documents": middle_of(size, 1),
        "a batch of documents, and half of their words": middle_of(size, 2),
    },
    # Predictions for every word of few documents, of which few are right.
    "LinearRegressionOutput LogisticRegressionOutput": lambda size: {
        "sparse labels, few of many, for extreme classification": call(
            data=tensor(*text_shape(size, FEW_DOCUMENTS)),
            label=few_texts(size, Fill("constant", 1.0)),
        )
    },
    "sum mean": lambda size: [
        {"data": differentiated(text(size), DENSE), "axis": (axis,), WHY: why}
        for axis, why in ((0, "each word over all documents"), (1, "each document over all words"))
    ],
    "norm": lambda size: [
        {"data": make(size), "ord": 2, WHY: f"the norm of {WHYS[layout]}"}
        for layout, make in MAKERS.items()
    ],
}
add_rows(FAMILIES.also, VARIANTS)
