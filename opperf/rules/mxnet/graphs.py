"""Graphs stored as sparse matrices: a vertex's row holds the numbers of its edges."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.deviations import NotFinite
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import square
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, below, call, fixed, literal, sparse, tensors

FAMILIES = Families()

NOT_FINITE = {
    "_contrib_dgl_csr_neighbor_non_uniform_sample": NotFinite(
        "writes the probabilities of a sample's vertices, a random number, and nothing behind"
    )
}

INDEX = "int64"
"""Dtype of vertices and of the numbers of edges: the operators take no other."""

SEQUENCE = Fill("sequence")

HOPS, NEIGHBOURS = 2, 10
"""Sampling for a mini-batch of a small graph network: two layers of ten neighbours each."""
DEGREE = 14
"""Edges of a vertex: those of a paper of ogbn-arxiv in both directions (Hu et al., 2020)."""


def vertices(size: Preset) -> int:
    """Number of vertices of the graph."""
    return square(size)[0]


def graph(size: Preset) -> TensorSpec:
    """A graph whose edges have distinct numbers, in no order, as they were added over time."""
    count = vertices(size)
    numbers = Fill("balanced", 0.0, float(count**2))
    density = min(1.0, DEGREE / count)
    return sparse("csr", count, count, density=density, fill=numbers, dtype=INDEX, gradient=False)


def first(count: int) -> TensorSpec:
    """The first vertices in ascending order, which some of the operators require."""
    return fixed(count, fill=SEQUENCE, dtype=INDEX)


def sampling(size: Preset) -> Arguments:
    """The limit is above the number of vertices: a sample that reaches it logs a message."""
    return {"num_hops": HOPS, "num_neighbor": NEIGHBOURS, "max_num_vertices": vertices(size) + 1}


@FAMILIES.add("_contrib_dgl_csr_neighbor_uniform_sample")
def uniform_sample(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A graph, and a mini-batch of vertices whose neighbours are sampled."""
    inputs = tensors([graph(size), first(size.batch)])
    why = "two hops of ten neighbours from a mini-batch of vertices, as GraphSAGE samples"
    yield {"seed_arrays": inputs, "num_args": len(inputs), **sampling(size), WHY: why}


@FAMILIES.add("_contrib_dgl_csr_neighbor_non_uniform_sample")
def weighted_sample(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `uniform_sample`, with a probability of each vertex."""
    likely = fixed(vertices(size), fill=PROBABILITY, dtype="float32")
    inputs = tensors([graph(size), likely, first(size.batch)])
    why = "two hops of ten neighbours, drawn by the probabilities of vertices"
    yield {"seed_arrays": inputs, "num_args": len(inputs), **sampling(size), WHY: why}


@FAMILIES.add("_contrib_dgl_subgraph")
def subgraph(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A graph and half of its vertices, without and with the edges' numbers as a second output."""
    inputs = tensors([graph(size), first(vertices(size) // 2)])
    for mapping, why in (
        (False, "half of a graph's vertices and the edges among them"),
        (True, "half of a graph's vertices, with the edges' numbers, to look up their features"),
    ):
        yield {"data": inputs, "num_args": len(inputs), "return_mapping": mapping, WHY: why}


@FAMILIES.add("_contrib_dgl_graph_compact")
def graph_compact(operator: Operator, size: Preset) -> Rows:
    """A graph with half of its rows and columns empty, as a sample leaves them, and its vertices;
    without a mapping of edges, for which MXNet returns an empty matrix."""
    count = vertices(size)
    sampled = count // 2
    sample = msgspec.structs.replace(graph(size), block=(sampled, sampled), fill=SEQUENCE)
    # After the vertices there is room for more; the last element is their number.
    listed = literal([*range(sampled), *[0] * (count - sampled), sampled])
    inputs = tensors([sample, fixed(count + 1, fill=listed, dtype=INDEX)])
    return {
        "a sample of neighbours, cut to the rows and columns that it filled": call(
            graph_data=inputs, num_args=len(inputs), graph_sizes=(sampled,), return_mapping=False
        )
    }


@FAMILIES.add("_contrib_dgl_adjacency")
def adjacency(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A graph, which becomes a matrix of ones where there is an edge."""
    yield {"data": graph(size), WHY: "a graph to the matrix that a graph convolution multiplies by"}


@FAMILIES.add("_contrib_edge_id")
def edge_id(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A graph and pairs of vertices, most of which have no edge between them."""
    rows, columns = square(size)
    yield {
        "data": sparse("csr", rows, columns, density=DEGREE / columns, gradient=False),
        "u": fixed(rows, fill=below(rows), dtype=INDEX),
        "v": fixed(rows, fill=below(columns), dtype=INDEX),
        WHY: "the edges of pairs of vertices, most of which have none",
    }
