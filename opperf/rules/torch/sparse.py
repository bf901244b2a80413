"""Families of PyTorch's sparse tensors: conversions, products, and what they consist of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from opperf.model import Argument, TensorSpec
from opperf.operations.uses import Table, use
from opperf.rules.configurations import WHY
from opperf.rules.deviations import OF_STORED
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import SEQUENCE, Arguments, below, call, fixed, odds, sparse, tensor
from opperf.rules.variants import Variants, add_rows

GEMM = "addend=self x=mat1 y=mat2 scale=alpha addend_scale=beta"
MATRICES = use("matrix_product", "x=self|mat1 y=mat2")
SAME = use("identity", "x=self -sparse_dim -blocksize")


OPERATIONS: Table = {
    **dict.fromkeys(("coalesce", "to_sparse"), SAME),
    **{f"to_sparse_{end}": SAME for end in ("bsc", "bsr", "csc", "csr")},
    "copy_sparse_to_sparse": use("identity", "x=src -self"),
    "hspmm": MATRICES,
    "smm": MATRICES,
    "sparse_mask": use("multiply", lambda self, mask: {"x": self, "y": mask != 0}),
    "sparse_sampled_addmm": use("sampled_matrix_product", GEMM),
    "sspaddmm": use("scaled_matrix_product", GEMM),
}


FAMILIES = Families()

NOT_BENCHMARKED = {
    "sparse_resize_": "it shrinks no tensor, so that a second call cannot have what the first had",
    "sparse_compressed_tensor": "it requires a layout, and no case has an argument of that type",
}
DIFFERENCES = {"to_dense": OF_STORED}

GRAPH = 0.01
"""Share of the pairs of nodes that a graph has edges of: twenty of each of two thousand nodes."""
PRUNED = 0.1
"""Share of the weights that are left of a pruned layer."""
ZEROS_TO_ONES = odds(9, 1)
"""Zeros and ones of a dense matrix that is to become sparse, as many as of a pruned layer."""
FEATURES = 64
"""Elements of a node's vector."""
BLOCK = (4, 4)
"""Rows and columns of a block."""
INDEX = "int64"

LAYOUTS = {
    "coo": "a graph's adjacency by coordinates times the nodes' vectors, as a GCN",
    "csr": "a graph's adjacency by rows times the nodes' vectors, as a GCN",
}
"""Layouts of the first factor of a product, each with why."""


def nodes(size: Preset) -> int:
    """Number of a graph's nodes, which blocks divide."""
    return 4 * max(4, size.extent(2048) // 4)


def graph(layout: str, size: Preset, gradient: bool = True) -> TensorSpec:
    """The adjacency matrix of a graph."""
    return sparse(layout, nodes(size), nodes(size), density=GRAPH, gradient=gradient)


def vectors(size: Preset) -> TensorSpec:
    """A vector of each node."""
    return tensor(nodes(size), FEATURES)


def pruned(layout: str, size: Preset) -> TensorSpec:
    """A pruned layer's weights."""
    return sparse(layout, *square(size), density=PRUNED)


def _graph_like(size: Preset) -> TensorSpec:
    return sparse("coo", *square(size), density=GRAPH)


WEIGHTS = "a pruned layer's weights"
WORDS = {
    **{"coo": "by coordinates", "csr": "by rows", "csc": "by columns"},
    "bsr": "by rows of blocks of 4 x 4",
    "bsc": "by columns of blocks of 4 x 4",
}


def of_layouts(*layouts: str, **options: Argument) -> Variants:
    """The configurations of an operator of one sparse tensor, in these layouts."""
    return lambda size: {
        f"{WEIGHTS} {WORDS[layout]}": call(self=pruned(layout, size), **options)
        for layout in layouts
    }


FEW_ROWS = 8
"""Divisor of the rows that are converted one by one, each by several operators."""


def to_sparse(how: str, **options: Argument) -> Callable[[Preset], dict[str, Arguments]]:
    """The configuration of a conversion of a dense matrix, nine tenths of it zeros."""
    fewer = FEW_ROWS if options.get("sparse_dim") == 1 else 1
    return lambda size: {
        f"{WEIGHTS} {how}": call(
            self=tensor(max(1, square(size)[0] // fewer), square(size)[1], fill=ZEROS_TO_ONES),
            **options,
        )
    }


def pieces(pointers: str, indices: str, blocks: Shape, sized: bool, why: str) -> Variants:
    """A constructor of compressed tensors with an element, or a block, in each row or column."""

    def variants(size: Preset) -> Rows:
        rows = size.extent(65536)
        extents = tuple(rows * extent for extent in blocks or (1, 1))
        made: Arguments = {
            pointers: fixed(rows + 1, fill=SEQUENCE, dtype=INDEX),
            indices: fixed(rows, fill=below(rows), dtype=INDEX),
            "values": tensor(rows, *blocks),
        }
        return {why: call(**made, **({"size": extents} if sized else {}))}

    return variants


ROW, COLUMN = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")

ONE_EACH = "as a table of which of many classes each item is"
KEPT = "as a layer pruned by blocks: parts that are checked, not copied"

CONSTRUCTORS = {
    f"sparse_{layout}_tensor.{names}{ending}": pieces(*parts, blocks, bool(ending), what)
    for layout, names, parts, blocks, what in (
        ("csr", "crow_col_value", ROW, (), f"one element in each row, {ONE_EACH}"),
        ("csc", "ccol_row_value", COLUMN, (), f"one element in each column, {ONE_EACH}"),
        ("bsr", "crow_col_value", ROW, BLOCK, f"one block in each row of blocks, {KEPT}"),
        ("bsc", "ccol_row_value", COLUMN, BLOCK, f"one block in each column of blocks, {KEPT}"),
    )
    for ending in ("", "_size")
}


def coordinates(sized: bool) -> Variants:
    """Coordinates that may repeat, and a value of each."""

    def variants(size: Preset) -> Iterable[Arguments]:
        rows = size.extent(4096)
        for width, why in (
            ((), "edges of a graph, as they are read: in no order, some of them twice"),
            ((FEATURES,), "a vector of each coordinate, as the gradient of an embedding's rows"),
        ):
            count = size.extent(65536) // math.prod(width)
            yield {
                "indices": fixed(2, count, fill=below(rows), dtype=INDEX),
                "values": tensor(count, *width),
                **({"size": (rows, rows, *width)} if sized else {}),
                WHY: why,
            }

    return variants


def products(first: str, second: str, *layouts: str, **options: Argument) -> Variants:
    """The configurations of a product of a sparse matrix and a dense one."""
    return lambda size: {
        LAYOUTS[layout]: call(
            **{first: graph(layout, size, gradient=False), second: vectors(size)}, **options
        )
        for layout in layouts
    }


AS_READ = "edges, as they are read: in no order, some of them twice"

VARIANTS: dict[str, Variants] = {
    **CONSTRUCTORS,
    "sparse_coo_tensor.indices": coordinates(sized=False),
    "sparse_coo_tensor.indices_size": coordinates(sized=True),
    "sparse_coo_tensor.size": lambda size: {"a gradient without elements": call(size=square(size))},
    "to_sparse.default": to_sparse("by coordinates"),
    "to_sparse.sparse_dim": lambda size: {
        **to_sparse("by coordinates", sparse_dim=2)(size),
        **to_sparse("by row: rows that have any element are kept whole", sparse_dim=1)(size),
    },
    "to_sparse_csr": to_sparse("by rows"),
    "to_sparse_csc": to_sparse("by columns"),
    "to_sparse_bsr": to_sparse("by rows of blocks of 4 x 4", blocksize=BLOCK),
    "to_sparse_bsc": to_sparse("by columns of blocks of 4 x 4", blocksize=BLOCK),
    "crow_indices col_indices crow_indices_copy": of_layouts("csr"),
    "ccol_indices row_indices ccol_indices_copy": of_layouts("csc"),
    "col_indices_copy values_copy": of_layouts("csr", "bsr"),
    "row_indices_copy": of_layouts("csc", "bsc"),
    "indices indices_copy _indices _indices_copy _values _values_copy _dimI _dimV is_coalesced": (
        of_layouts("coo")
    ),
    "values": of_layouts("coo", "csr", "bsr"),
    "coalesce": lambda size: {f"a graph's {AS_READ}": call(self=graph("uncoalesced", size))},
    "dense_dim sparse_dim _nnz": of_layouts("coo", "csr"),
    "copy_sparse_to_sparse": lambda size: {
        "a layer's pruned weights": call(self=pruned("coo", size), src=pruned("coo", size))
    },
    "resize_as_sparse": lambda size: {
        "shaped as another matrix": call(self=pruned("coo", size), the_template=pruned("coo", size))
    },
    "sparse_resize sparse_resize_and_clear": lambda size: {
        "a graph with room for twice as many nodes": call(
            self=_graph_like(size),
            size=tuple(2 * extent for extent in square(size)),
            sparse_dim=2,
            dense_dim=0,
        )
    },
    "sparse_mask": lambda size: {
        f"a pruned gradient, {word}": call(self=tensor(*square(size)), mask=pruned(layout, size))
        for layout, word in (("coo", "by coordinates"), ("csr", "by rows"))
    },
    "sparse_sampled_addmm": lambda size: {
        "scores of a graph's edges alone, as graph attention": call(
            self=graph("csr", size), mat1=vectors(size), mat2=tensor(FEATURES, nodes(size))
        )
    },
    "hspmm": products("mat1", "mat2", "coo"),
    "smm": products("self", "mat2", "coo"),
    "sspaddmm": lambda size: {
        LAYOUTS["coo"]: call(
            self=sparse("coo", nodes(size), FEATURES, density=GRAPH),
            mat1=graph("coo", size),
            mat2=vectors(size),
        )
    },
    "_sparse_mm.default": products("sparse", "dense", "coo", "csr"),
    "_sparse_mm.reduce": lambda size: {
        why: call(sparse=graph("csr", size, gradient=False), dense=vectors(size), reduce=reduce)
        for reduce, why in (
            ("sum", "sums of neighbours' vectors, as GIN"),
            ("mean", "means of neighbours' vectors, as GraphSAGE"),
            ("amax", "maxima of neighbours' vectors, as GraphSAGE pools them"),
        )
    },
    "_sparse_addmm": lambda size: {
        LAYOUTS["coo"]: call(
            self=vectors(size), mat1=graph("coo", size, gradient=False), mat2=vectors(size)
        )
    },
    "_sparse_sparse_matmul": lambda size: {
        "neighbours of nodes' neighbours": call(self=_graph_like(size), other=_graph_like(size))
    },
    "_sparse_sum.default": lambda size: {"a graph's total weight": call(self=graph("coo", size))},
    "_sparse_sum.dim": lambda size: {
        "each node's weighted degree": call(self=graph("coo", size), dim=(1,))
    },
    "_sparse_softmax.int _sparse_log_softmax.int": lambda size: {
        "scores of each node's edges, as graph attention": call(self=graph("coo", size), dim=1)
    },
    "_sparse_csr_sum.dim_dtype _sparse_csr_prod.dim_dtype": lambda size: {
        "each row of a graph's adjacency": call(
            self=sparse("csr", *square(size), density=GRAPH, gradient=False), dim=(1,), keepdim=True
        )
    },
}

add_rows(FAMILIES.add, VARIANTS, replaces="its tensors are sparse, or become so")
