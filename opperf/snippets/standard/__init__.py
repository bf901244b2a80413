"""The standard set: the costs of PyTorch that no kernel has, in Python and C++.

Its tensors are small, so that a time is mostly that of the way to a kernel and back: indexing,
broadcasting, views, allocation, dispatch, autograd, modules, TorchScript. `opperf run
opperf.snippets.standard` measures it.
"""

from opperf.snippets.standard import calls, tensors

BENCHMARKS = {
    "Creation": tensors.CREATION,
    "Pointwise": tensors.POINTWISE,
    "Data movement": tensors.MOVEMENT,
    "Indexing": tensors.INDEXING,
    "Views": tensors.VIEWS,
    "Reductions": tensors.REDUCTIONS,
    "Dispatch": calls.DISPATCH,
    "Modules": calls.MODULES,
    "Composite": calls.COMPOSITE,
    "Autograd": calls.AUTOGRAD,
}
