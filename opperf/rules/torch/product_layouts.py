"""Further inputs of PyTorch's products and of common operators: matrices in the memory of their
transposes, repeated ones, and sparse ones, for which PyTorch has other kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, HEADS, UNITS, WIDTH, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import square
from opperf.rules.sizes import Preset
from opperf.rules.torch.sparse import FEATURES, LAYOUTS, graph, nodes, pruned, vectors
from opperf.rules.values import Arguments, sparse, tensor

FAMILIES = Families()


def transposed(*shape: int) -> TensorSpec:
    """A matrix, or a stack of them, in the memory of the transpose."""
    *_, rows, columns = shape
    strides = (*((rows * columns,) * (len(shape) - 2)), 1, rows)
    return TensorSpec(shape, "", gradient=True, strides=strides)


def repeated(rows: int, columns: int) -> TensorSpec:
    """A matrix whose rows are all one in memory."""
    return TensorSpec((rows, columns), "", gradient=True, strides=(0, 1))


def heads_of_tokens(length: int) -> TensorSpec:
    """Vectors of each head of a sentence, in memory by token, as a dense layer makes them."""
    return TensorSpec((HEADS, length, WIDTH), "", gradient=True, strides=(WIDTH, UNITS, 1))


def tokens_of_heads(length: int) -> TensorSpec:
    """The same vectors transposed."""
    return TensorSpec((HEADS, WIDTH, length), "", gradient=True, strides=(WIDTH, 1, UNITS))


LINEAR = "BERT-base, tokens by a layer's weights as they are stored, transposed"
GRADIENT = "BERT-base, the gradient of a layer's weights: the first matrix transposed"


@FAMILIES.also("mm.default", "addmm.default", "matmul", "linalg_matmul")
def transposed_matrices(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The products of a dense layer forward and of its weights' gradient, one matrix of each in the
    memory of its transpose."""
    tokens, units, inside = size.extent(512), layer_width(size), layer_width(size, FEED_FORWARD)
    names = [one.name for one in operator.tensors]
    addend, (left, right) = names[:-2], names[-2:]
    for why, x, y in (
        (LINEAR, tensor(tokens, units), transposed(units, inside)),
        (GRADIENT, transposed(units, tokens), tensor(tokens, inside)),
    ):
        made: Arguments = {left: x, right: y, WHY: why}
        if addend:
            made[addend[0]] = repeated(x.shape[0], y.shape[1])
        yield made


@FAMILIES.also("bmm.default", "baddbmm.default")
def heads(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Heads of one sentence, which are next to each other in each token's vector."""
    length = size.extent(512, least=8)
    names = [one.name for one in operator.tensors]
    addend, (left, right) = names[:-2], names[-2:]
    made: Arguments = {
        left: heads_of_tokens(length),
        right: tokens_of_heads(length),
        WHY: "BERT-base, scores of a sentence's heads, which are side by side in each token",
    }
    if addend:
        made[addend[0]] = tensor(HEADS, length, length)
    yield made


@FAMILIES.also("mv", "addmv")
def transposed_matrix(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A transposed matrix by a vector."""
    rows, columns = square(size)
    names = [one.name for one in operator.tensors]
    addend, (left, right) = names[:-2], names[-2:]
    yield {
        **{name: tensor(rows) for name in addend},
        left: transposed(rows, columns),
        right: tensor(columns),
        WHY: "a transposed matrix by a vector, as the gradient of a dense layer's sample",
    }


SPARSE_BLOCKS = "a graph's adjacency by rows of blocks of 4 x 4 times the nodes' vectors"


@FAMILIES.also("mm.default", "addmm.default", "matmul")
def sparse_products(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A graph's adjacency times its nodes' vectors."""
    names = [one.name for one in operator.tensors]
    addend, (left, right) = names[:-2], names[-2:]
    # A product by a matrix of blocks has no gradient.
    for layout, why in {**LAYOUTS, "bsr": SPARSE_BLOCKS}.items():
        yield {
            **{name: tensor(nodes(size), FEATURES) for name in addend},
            left: graph(layout, size, gradient=layout != "bsr"),
            right: vectors(size),
            WHY: why,
        }


@FAMILIES.also("mv")
def sparse_matrix(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A graph's adjacency times one number of each node."""
    for layout, word in (("coo", "by coordinates"), ("csr", "by rows")):
        yield {
            "self": graph(layout, size),
            "vec": tensor(nodes(size)),
            WHY: f"a graph's adjacency {word} by a vector, as a step of PageRank",
        }


WORDS = {"coo": "by coordinates", "csr": "by rows"}


def of_two(layout: str, size: Preset) -> Arguments:
    """Two sparse matrices with elements at different places."""
    return {
        "self": pruned(layout, size),
        "other": sparse(layout, *square(size), density=0.05),
        WHY: f"two sparse matrices {WORDS[layout]}, as gradients of embeddings",
    }


def of_one(layout: str, size: Preset) -> Arguments:
    """A sparse matrix."""
    return {"self": pruned(layout, size), WHY: f"a pruned layer's weights {WORDS[layout]}"}


SPARSE: dict[str, tuple[Callable[[str, Preset], Arguments], tuple[str, ...]]] = {
    "add.Tensor": (of_two, ("coo", "csr")),
    "mul.Tensor": (of_two, ("coo", "csr")),
    "sum.default": (of_one, ("coo", "csr")),
    "sum.dim_IntList": (of_one, ("coo",)),
    **dict.fromkeys(("abs.default", "neg.default", "sgn.default"), (of_one, ("coo", "csr"))),
    **dict.fromkeys(("relu.default", "tanh.default", "sin.default"), (of_one, ("coo", "csr"))),
    **dict.fromkeys(("clone.default", "to_dense.default"), (of_one, ("coo", "csr"))),
    "transpose.int": (of_one, ("coo", "csr")),
}
"""Operators that take sparse tensors, with the layouts."""

AXES: dict[str, dict[str, Argument]] = {
    "sum.dim_IntList": {"dim": (1,)},
    "transpose.int": {"dim0": 0, "dim1": 1},
}
"""Arguments that these operators require."""


@FAMILIES.also(*SPARSE)
def sparse_tensors(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sparse matrices, of which only what they store is computed with."""
    name = next(name for name in operator.names if name in SPARSE)
    make, layouts = SPARSE[name]
    for layout in layouts:
        yield {**make(layout, size), **AXES.get(name, {})}
