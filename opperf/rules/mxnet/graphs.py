"""Graphs stored as sparse matrices: a row for each vertex, and in it the numbers of its edges."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.shapes import square
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, below, fixed, tensor, tensors

FAMILIES = Families()

INDEX = "int64"
"""Dtype of vertices and of the numbers of edges: the operators take no other."""

SEQUENCE = Fill("sequence")

HOPS, NEIGHBOURS = 2, 10
"""Two layers of ten neighbours each: a mini-batch of a small graph network."""


def vertices(size: Preset) -> int:
    """How many vertices the graph has."""
    return square(size)[0]


def graph(size: Preset) -> TensorSpec:
    """A graph in which no two edges have one number."""
    count = vertices(size)
    return tensor(count, count, fill=SEQUENCE, dtype=INDEX, layout="csr", gradient=False)


def first(count: int) -> TensorSpec:
    """The first vertices, in order, as some of the operators want them."""
    return fixed(count, fill=SEQUENCE, dtype=INDEX)


def sampling(size: Preset) -> Arguments:
    """How far a sample reaches. It has room for one vertex more than there are: filling up, it
    would end early and say so in the log, at each call."""
    return {
        "num_hops": HOPS,
        "num_neighbor": NEIGHBOURS,
        "max_num_vertices": vertices(size) + 1,
    }


@FAMILIES.add("_contrib_dgl_csr_neighbor_uniform_sample")
def uniform_sample(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Neighbours of a mini-batch of vertices, and the neighbours of these."""
    inputs = tensors([graph(size), first(size.batch)])
    yield {"seed_arrays": inputs, "num_args": len(inputs), **sampling(size)}


@FAMILIES.add("_contrib_dgl_csr_neighbor_non_uniform_sample")
def weighted_sample(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `uniform_sample`, some vertices being likelier than others."""
    likely = fixed(vertices(size), fill=PROBABILITY, dtype="float32")
    inputs = tensors([graph(size), likely, first(size.batch)])
    yield {"seed_arrays": inputs, "num_args": len(inputs), **sampling(size)}


@FAMILIES.add("_contrib_dgl_subgraph")
def subgraph(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Half of the vertices and the edges between them, without and with the numbers that these
    edges had."""
    inputs = tensors([graph(size), first(vertices(size) // 2)])
    for mapping in (False, True):
        yield {"data": inputs, "num_args": len(inputs), "return_mapping": mapping}


@FAMILIES.add("_contrib_dgl_graph_compact")
def graph_compact(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A sample that reached every vertex: the graph, its vertices and, behind them, how many
    they are. Asked for the numbers that edges had, MXNet gives an empty matrix."""
    count = vertices(size)
    inputs = tensors([graph(size), first(count + 1)])
    yield {
        "graph_data": inputs,
        "num_args": len(inputs),
        "graph_sizes": (count,),
        "return_mapping": False,
    }


@FAMILIES.add("_contrib_dgl_adjacency")
def adjacency(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The graph as a matrix of ones where there is an edge."""
    yield {"data": graph(size)}


@FAMILIES.add("_contrib_edge_id")
def edge_id(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Values of the edges between pairs of vertices, most of them not in the graph."""
    rows, columns = square(size)
    yield {
        "data": tensor(rows, columns, layout="csr", gradient=False),
        "u": fixed(rows, fill=below(rows), dtype=INDEX),
        "v": fixed(rows, fill=below(columns), dtype=INDEX),
    }
