"""Makes some of MXNet's or PyTorch's operators compute more rows than their inputs have.

Python imports this at its start where this folder is on PYTHONPATH. SLOWED has the operators, by
the registry's names, each with the share of rows that each of its tensors gets in addition:
`tanh=0.1,softmax=0.2`. With a share of 0 everything is as with others, but for the rows. They are
put there before the first call, so that every call is one call of the operator, and its extra work
the operator's own; of MXNet backward too.
"""

import ctypes
import importlib.abc
import importlib.util
import math
import os
import sys


class Watch(importlib.abc.MetaPathFinder):
    """Changes the module when it is imported, and not before."""

    def find_spec(self, name, path, target=None):
        if name not in SLOW_DOWN:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            pairs = (one.split("=") for one in os.environ["SLOWED"].split(","))
            SLOW_DOWN[name](module, {name: float(share) for name, share in pairs})

        spec.loader.exec_module = execute_and_change
        return spec


def slow_down_mxnet(module, shares):
    from mxnet.base import _LIB, c_str, check_call

    by_handle = {}
    for name, share in shares.items():
        handle = ctypes.c_void_p()
        check_call(_LIB.NNGetOpHandle(c_str(name), ctypes.byref(handle)))
        by_handle[handle.value] = share
    invoke = module._imperative_invoke
    longer = {}

    def with_more_rows(tensor, share):
        known, made = longer.get(id(tensor), (None, None))
        differentiated = tensor.grad is not None
        if known is not tensor or differentiated != (made.grad is not None):
            import mxnet as mx

            more = math.ceil(share * tensor.shape[0])
            with mx.autograd.pause():
                made = mx.nd.concat(tensor, tensor[:more], dim=0) if more else tensor.copy()
                if differentiated:
                    made.attach_grad()
                    # The caller checks the gradient of its own tensor, which gets none now.
                    tensor.grad[:] = 1
            mx.nd.waitall()
            longer[id(tensor)] = (tensor, made)
        return made

    def invoke_with_more_rows(handle, tensors, *rest):
        if handle in by_handle:
            tensors = [with_more_rows(tensor, by_handle[handle]) for tensor in tensors]
        return invoke(handle, tensors, *rest)

    module._imperative_invoke = invoke_with_more_rows


def slow_down_torch(torch, shares):
    longer = {}

    def with_more_rows(tensor, share):
        known, made = longer.get(id(tensor), (None, None))
        if known is not tensor:
            more = math.ceil(share * tensor.shape[0])
            made = torch.cat([tensor, tensor[:more]]) if more else tensor.clone()
            longer[id(tensor)] = (tensor, made)
        return made

    def slowed(call, share):
        def call_with_more_rows(*arguments, **others):
            return call(
                *(
                    with_more_rows(one, share) if isinstance(one, torch.Tensor) else one
                    for one in arguments
                ),
                **{
                    name: with_more_rows(one, share) if isinstance(one, torch.Tensor) else one
                    for name, one in others.items()
                },
            )

        return call_with_more_rows

    for name, share in shares.items():
        operator, _, overload = name.partition(".")
        found = getattr(getattr(torch.ops.aten, operator), overload or "default")
        found._op = slowed(found._op, share)


SLOW_DOWN = {"mxnet.ndarray.register": slow_down_mxnet, "torch": slow_down_torch}
"""By module: that in which MXNet's generated functions look up the function that calls operators,
and PyTorch's own."""

if os.environ.get("SLOWED"):
    sys.meta_path.insert(0, Watch())
