"""Further inputs of PyTorch's products and of common operators: matrices in the memory of their
transposes, repeated ones, and sparse ones, for which PyTorch has other kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Roles, Table, of_ranks, use
from opperf.rules.bert import FEED_FORWARD, HEADS, UNITS, WIDTH, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import square
from opperf.rules.sizes import Preset
from opperf.rules.torch.sparse import LAYOUTS, graph, nodes, pruned, vectors
from opperf.rules.values import Arguments, call, sparse, tensor, transposed
from opperf.rules.variants import Variants, add_rows


def _tensordot_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    x, axes = roles["x"], roles["axes"]
    assert isinstance(x, TensorSpec)
    if isinstance(axes, int):
        rank = len(x.shape)
        axes = (tuple(range(rank - axes, rank)), tuple(range(axes)))
    assert isinstance(axes, tuple)
    ours, theirs = axes
    return {"self": x, "other": roles["y"], "dims_self": ours, "dims_other": theirs}


VECTORS = "x=self y=vec2"
SCALES = "addend=self scale=alpha addend_scale=beta"

MATMUL = use("matrix_product", "x=self y=other")
MATRICES = use("matrix_product", "x=self y=mat2")
GEMM = use("scaled_matrix_product", f"{SCALES} x=mat1|mat|batch1 y=mat2|vec|batch2")
OUTER = use("outer_product", VECTORS)

OPERATIONS: Table = {
    "addbmm": use("scaled_sum_of_products", f"{SCALES} x=batch1 y=batch2"),
    "addmm.default": of_ranks(GEMM, x=2, y=2),
    "addmv": of_ranks(GEMM, x=2, y=1),
    "addr": use("scaled_outer_product", f"{SCALES} x=vec1 y=vec2"),
    "baddbmm.default": of_ranks(GEMM, x=3, y=3),
    "bmm.default": of_ranks(MATRICES, x=3, y=3),
    "chain_matmul": use("matrix_product_chain", "matrices"),
    "dot": of_ranks(use("inner_product", "x=self y=tensor"), x=1, y=1),
    "einsum": use("einsum", "subscripts=equation tensors"),
    "ger": OUTER,
    "inner": use("inner_product", "x=self y=other"),
    "linalg_matmul": MATMUL,
    "linalg_multi_dot": use("matrix_product_chain", "matrices=tensors"),
    "linalg_vecdot": use("vector_products", "x y axis=dim"),
    "matmul": MATMUL,
    "mm.default": of_ranks(MATRICES, x=2, y=2),
    "mv": of_ranks(use("matrix_product", "x=self y=vec"), x=2, y=1),
    "outer": OUTER,
    "tensordot": use(
        "tensordot",
        lambda self, other, dims_self, dims_other: {
            "x": self,
            "y": other,
            "axes": (dims_self, dims_other),
        },
        to_arguments=_tensordot_arguments,
    ),
    "vdot": of_ranks(use("vector_dot", "x=self y=other"), x=1, y=1),
}


FAMILIES = Families()


def addend_and_factors(operator: Operator) -> tuple[list[str], list[str]]:
    """The names of what is added, if anything, and of what is multiplied."""
    names = [parameter.name for parameter in operator.tensors if parameter.name != OUTPUT]
    return names[:-2], names[-2:]


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
    addend, (left, right) = addend_and_factors(operator)
    for why, x, y in (
        (LINEAR, tensor(tokens, units), transposed(tensor(units, inside))),
        (GRADIENT, transposed(tensor(units, tokens)), tensor(tokens, inside)),
    ):
        made: Arguments = {left: x, right: y, WHY: why}
        if addend:
            made[addend[0]] = repeated(x.shape[0], y.shape[1])
        yield made


@FAMILIES.also("bmm.default", "baddbmm.default")
def heads(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Heads of one sentence, which are next to each other in each token's vector."""
    length = size.extent(512, least=8)
    addend, (left, right) = addend_and_factors(operator)
    made: Arguments = {
        left: heads_of_tokens(length),
        right: tokens_of_heads(length),
        WHY: "BERT-base, scores of a sentence's heads, which are side by side in each token",
    }
    if addend:
        made[addend[0]] = tensor(HEADS, length, length)
    yield made


@FAMILIES.also("mv", "addmv")
def transposed_matrix(operator: Operator, size: Preset) -> Rows:
    """A transposed matrix by a vector."""
    rows, columns = square(size)
    addend, (left, right) = addend_and_factors(operator)
    return {
        "a transposed matrix by a vector, as the gradient of a dense layer's sample": call(
            **dict.fromkeys(addend, tensor(rows)),
            **{left: transposed(tensor(rows, columns)), right: tensor(columns)},
        )
    }


SPARSE_BLOCKS = "a graph's adjacency by rows of blocks of 4 x 4 times the nodes' vectors"


@FAMILIES.also("mm.default", "addmm.default", "matmul")
def sparse_products(operator: Operator, size: Preset) -> Rows:
    """A graph's adjacency times its nodes' vectors."""
    addend, (left, right) = addend_and_factors(operator)
    # A product by a matrix of blocks has no gradient.
    return {
        why: call(
            **dict.fromkeys(addend, vectors(size)),
            **{left: graph(layout, size, gradient=layout != "bsr"), right: vectors(size)},
        )
        for layout, why in {**LAYOUTS, "bsr": SPARSE_BLOCKS}.items()
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


FURTHER: dict[str, Variants] = {
    "mv": lambda size: {
        f"a graph's adjacency {word} by a vector, as a step of PageRank": call(
            self=graph(layout, size), vec=tensor(nodes(size))
        )
        for layout, word in (("coo", "by coordinates"), ("csr", "by rows"))
    }
}
add_rows(FAMILIES.also, FURTHER)
