"""Stands for the module of this name, which compiles dynamo's graphs."""

from torch_xla import steps


def extract_compiled_graph(graph, inputs):
    steps["compiled"] += 1
    return graph
