"""Further inputs of PyTorch's products: transposed, repeated and sparse matrices."""

from __future__ import annotations

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Roles, Table, of_ranks, use
from opperf.rules.bert import FEED_FORWARD, HEADS, UNITS, WIDTH, layer_width
from opperf.rules.engine import OUTPUT
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import square
from opperf.rules.sizes import Preset
from opperf.rules.torch.sparse import LAYOUTS, WORDS, graph, nodes, of_layouts, pruned, vectors
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


@FAMILIES.also("mm.default", "addmm.default", "matmul", "linalg_matmul")
def transposed_matrices(operator: Operator, size: Preset) -> Rows:
    """The products of a dense layer and of its weights' gradient, with a transposed matrix each."""
    tokens, units, inside = size.extent(512), layer_width(size), layer_width(size, FEED_FORWARD)
    addend, (left, right) = addend_and_factors(operator)
    return {
        why: call(**{left: x, right: y}, **dict.fromkeys(addend, repeated(x.shape[0], y.shape[1])))
        for why, x, y in (
            (
                "BERT-base, widening its tokens: weights as layers store them, transposed",
                tensor(tokens, units),
                transposed(tensor(units, inside)),
            ),
            (
                "BERT-base, the gradient of those weights: transposed tokens by gradients",
                transposed(tensor(units, tokens)),
                tensor(tokens, inside),
            ),
        )
    }


def queries_and_keys(size: Preset) -> Arguments:
    """Vectors of all heads of sentences, in memory by token."""
    length = size.extent(128, least=8)
    heads, text = (size.batch, HEADS), length * UNITS
    left = TensorSpec((*heads, length, WIDTH), gradient=True, strides=(text, WIDTH, UNITS, 1))
    right = TensorSpec((*heads, WIDTH, length), gradient=True, strides=(text, WIDTH, 1, UNITS))
    return call(self=left, other=right)


@FAMILIES.also("bmm.default", "baddbmm.default")
def heads(operator: Operator, size: Preset) -> Rows:
    """Vectors of each head of a sentence, in memory by token, as a dense layer makes them."""
    length = size.extent(512, least=8)
    addend, (left, right) = addend_and_factors(operator)
    x = TensorSpec((HEADS, length, WIDTH), "", gradient=True, strides=(WIDTH, UNITS, 1))
    y = TensorSpec((HEADS, WIDTH, length), "", gradient=True, strides=(WIDTH, 1, UNITS))
    return {
        "BERT-base, scores of a sentence's heads, which are side by side in each token": call(
            **{left: x, right: y}, **dict.fromkeys(addend, tensor(HEADS, length, length))
        )
    }


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


def of_two(what: str) -> Variants:
    """Two sparse matrices with elements at different places."""
    return lambda size: {
        f"{what}, {WORDS[layout]}": call(
            self=pruned(layout, size), other=sparse(layout, *square(size), density=0.05)
        )
        for layout in ("coo", "csr")
    }


FURTHER: dict[str, Variants] = {
    "mv": lambda size: {
        f"PageRank's step, {WORDS[layout]}": call(self=graph(layout, size), vec=tensor(nodes(size)))
        for layout in ("coo", "csr")
    },
    "matmul linalg_matmul": lambda size: {
        "BERT-base, scores of all heads, side by side in each token": queries_and_keys(size)
    },
    "add.Tensor": of_two("a pruned layer's weights and a sparse update of half as many"),
    "mul.Tensor": of_two("a pruned matrix by a sparse mask"),
    "abs.default neg.default sgn.default relu.default tanh.default sin.default clone.default "
    "to_dense.default sum.default": of_layouts("coo", "csr"),
    "sum.dim_IntList": of_layouts("coo", dim=(1,)),
    "transpose.int": of_layouts("coo", "csr", dim0=0, dim1=1),
}
"""Sparse matrices, of which only what they store is computed with."""
add_rows(FAMILIES.also, FURTHER)
