"""The standard set: the costs of PyTorch that no kernel has, in Python and C++.

Its tensors are small, so that a time is mostly that of the way to a kernel and back: indexing,
broadcasting, views, allocation, dispatch, autograd, modules, TorchScript. `opperf run
opperf.snippets.standard` measures it.
"""

from opperf.snippets.standard import (
    autograd,
    composite,
    creation,
    dispatch,
    indexing,
    modules,
    movement,
    pointwise,
    reductions,
    views,
)

BENCHMARKS = {
    "Creation": creation.BENCHMARKS,
    "Pointwise": pointwise.BENCHMARKS,
    "Data movement": movement.BENCHMARKS,
    "Indexing": indexing.BENCHMARKS,
    "Views": views.BENCHMARKS,
    "Reductions": reductions.BENCHMARKS,
    "Dispatch": dispatch.BENCHMARKS,
    "Modules": modules.BENCHMARKS,
    "Composite": composite.BENCHMARKS,
    "Autograd": autograd.BENCHMARKS,
}
