"""Sparse tensors, for every kernel that MXNet has for a combination of their layouts.

They add to the dense inputs of the operators' own families.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.domains import DOMAINS, FEW_INTEGERS
from opperf.rules.engine import uses_of
from opperf.rules.mxnet.operations.elementwise import TABLE as USES
from opperf.rules.mxnet.sparse_tensors import (
    CLASSES,
    CSR,
    DENSE,
    FEW_DOCUMENTS,
    INDEX,
    MAKERS,
    NONE,
    OF_ADVERTISING,
    OF_BATCH,
    OF_DENSE_RESULT,
    OF_TEXT,
    OWN,
    ROWS,
    WHOLE,
    WHYS,
    WIDTH,
    differentiated,
    few_texts,
    rows,
    table_shape,
    text,
    text_shape,
)
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    POSITIVE,
    Arguments,
    below,
    between,
    fixed,
    sparse,
    tensor,
    tensors,
)

FAMILIES = Families()


def domain(operator: Operator) -> Fill:
    """The fill of an operator's one tensor."""
    if operator.name == "_equal_scalar":
        return FEW_INTEGERS
    operations = [use.operation for use, _ in uses_of(operator, USES)]
    return DOMAINS.get(operations[0], NORMAL) if operations else NORMAL


class Unary(NamedTuple):
    """What an operator of one sparse tensor takes beside it, and the layouts of its gradients."""

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
        yield {
            operator.tensors[0].name: differentiated(
                makers[layout](size, domain(operator)), gradient
            ),
            **one.values,
            WHY: WHYS[layout],
        }


class Binary(NamedTuple):
    """Pairs of layouts for which an operator of two tensors has kernels, each with the layout of
    the gradients, and the tensors' fills. The same kernels serve the opposite order."""

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
        ("elemwise_add", "elemwise_sub"), Binary((*alike(OWN, OWN), *beside_dense(DENSE)))
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
        second = (
            tensor(*first.shape, fill=pair.right)
            if right == DENSE
            else MAKERS[right](size, pair.right)
        )
        of_second = NONE if operator.name in UNUSED else gradient
        yield {
            one: differentiated(first, gradient),
            other: differentiated(second, of_second),
            WHY: f"{WHYS[left]}, and {'as many more' if left == right else 'a dense tensor'}",
        }


@FAMILIES.also("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div")
def sparse_broadcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Text, and a row of one number for each word, by which it is scaled or shifted."""
    scales = operator.name in ("broadcast_mul", "broadcast_div")
    fill, gradient = (POSITIVE, NONE) if scales else (NORMAL, DENSE)
    _, words = text_shape(size)
    yield {
        "lhs": differentiated(text(size) if scales else few_texts(size), gradient),
        "rhs": differentiated(tensor(1, words, fill=fill), gradient),
        WHY: "text scaled word by word, as tf-idf"
        if scales
        else "text shifted word by word, as to a mean of zero",
    }


@FAMILIES.also("add_n")
def sparse_sum_of_many(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradients of one embedding that is used in several places."""
    gradients = tensors([differentiated(rows(size), OWN)] * LIST_LENGTH)
    yield {"args": gradients, WHY: "row-sparse gradients of an embedding used in several places"}


@FAMILIES.also("dot")
def sparse_dot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Text by dense weights, as the first layer of a linear or a factorisation model."""
    documents, words = text_shape(size)
    weight = differentiated(tensor(words, WIDTH), ROWS)
    result = tensor(documents, WIDTH)
    for density, what in ((OF_TEXT, "text at 1 %"), (OF_ADVERTISING, "clicks at 0.1 %")):
        data = text(size, density=density)
        yield {"lhs": data, "rhs": weight, WHY: f"{what}, by the first layer's weights"}
        yield {
            "lhs": data,
            "rhs": result,
            "transpose_a": True,
            WHY: f"{what}, transposed: the gradient of the weights",
        }
    data = text(size)
    yield {
        "lhs": data,
        "rhs": result,
        "transpose_a": True,
        "forward_stype": ROWS,
        WHY: "the gradient of the weights, stored as the rows of words that occur",
    }
    stored = sparse(ROWS, words, WIDTH, density=WHOLE)
    yield {"lhs": data, "rhs": stored, WHY: "row-sparse weights, as a parameter server sends them"}
    few = differentiated(sparse(ROWS, documents, WIDTH, density=OF_BATCH), DENSE)
    yield {
        "lhs": data,
        "rhs": few,
        "transpose_a": True,
        "forward_stype": ROWS,
        WHY: "the gradient of the weights, from the gradient of few documents",
    }
    mixes = fixed(CLASSES, documents)
    yield {
        "lhs": mixes,
        "rhs": data,
        "forward_stype": CSR,
        WHY: "mixes of documents, in compressed rows",
    }
    yield {
        "lhs": mixes,
        "rhs": data,
        "forward_stype": "default",
        WHY: "mixes of documents, as a dense matrix",
    }
    yield {
        "lhs": fixed(CLASSES, words),
        "rhs": data,
        "transpose_b": True,
        "forward_stype": "default",
        WHY: "weights of few classes by documents",
    }


@FAMILIES.also("sum", "mean")
def sparse_reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The frequencies of words and the lengths of documents."""
    for axis, why in ((0, "how frequent each word is"), (1, "how long each document is")):
        yield {"data": differentiated(text(size), DENSE), "axis": (axis,), WHY: why}


@FAMILIES.also("norm")
def sparse_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The norm of a sparse tensor, by which a gradient is clipped."""
    for layout, make in MAKERS.items():
        yield {"data": make(size), "ord": 2, WHY: f"the norm of {WHYS[layout]}"}


@FAMILIES.also("slice")
def sparse_slice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A batch of documents, and half of the words of one."""
    documents, words = text_shape(size)
    begin, end = documents // 4, 3 * documents // 4
    yield {"data": text(size), "begin": (begin,), "end": (end,), WHY: "a batch of documents"}
    yield {
        "data": text(size),
        "begin": (begin, words // 4),
        "end": (end, 3 * words // 4),
        WHY: "a batch of documents, and half of their words",
    }


@FAMILIES.also("Concat")
def sparse_concat(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Batches of documents to join."""
    yield {
        "data": tensors([text(size)] * LIST_LENGTH),
        "dim": 0,
        WHY: "batches of documents, joined",
    }


@FAMILIES.also("take")
def sparse_take(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A mini-batch of documents, drawn at random."""
    documents, _ = text_shape(size)
    chosen = fixed(size.extent(256), fill=below(documents), dtype=INDEX)
    why = "a mini-batch of documents, drawn at random"
    yield {"a": text(size), "indices": chosen, "axis": 0, WHY: why}


@FAMILIES.also("where")
def sparse_where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two dense tensors, and a condition that holds for few elements."""
    shape = text_shape(size, FEW_DOCUMENTS)
    yield {
        "condition": few_texts(size, BOOLEAN),
        "x": tensor(*shape),
        "y": tensor(*shape),
        WHY: "a sparse condition, which holds for few words of each document",
    }


LINEAR = ("LinearRegressionOutput", "LogisticRegressionOutput")


@FAMILIES.also(*LINEAR)
def sparse_labels(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Predictions for every word of few documents, of which few are right: extreme
    classification."""
    labels = few_texts(size, BOOLEAN)
    why = "sparse labels, few of many, as in extreme classification"
    yield {"data": tensor(*labels.shape), "label": labels, WHY: why}


@FAMILIES.also("Embedding", "_contrib_SparseEmbedding")
def sparse_embedding(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Words, and an embedding whose gradient has only their rows."""
    count, width = table_shape(size)
    words: Arguments = {
        "data": fixed(size.extent(32), 32, fill=below(count), dtype="int32"),
    }
    values: Arguments = {"input_dim": count, "output_dim": width}
    if operator.name == "Embedding":
        weight = differentiated(tensor(count, width), ROWS)
        wanted: Arguments = {"weight": weight, "sparse_grad": True}
        yield {**words, **values, **wanted, WHY: "an embedding with sparse gradients"}
    # Of row-sparse weights only the operator of its own has a gradient.
    gradient = OWN if operator.name == "_contrib_SparseEmbedding" else NONE
    stored = differentiated(sparse(ROWS, count, width, density=WHOLE), gradient)
    yield {**words, "weight": stored, **values, WHY: "row-sparse weights of an embedding"}


@FAMILIES.also("FullyConnected")
def sparse_layer(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Row-sparse weights of a wide layer, as a parameter server sends them."""
    outputs = size.extent(1024)
    yield {
        "data": fixed(size.batch, WIDTH),
        "weight": differentiated(sparse(ROWS, outputs, WIDTH, density=WHOLE), NONE),
        "bias": differentiated(sparse(ROWS, outputs, density=WHOLE), NONE),
        "num_hidden": outputs,
        "flatten": True,
        WHY: "row-sparse weights of a wide layer, as a parameter server sends them",
    }
