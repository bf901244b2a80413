"""The way to a kernel: overloads, results of the caller, keyword arguments, contexts."""

from opperf.snippets import Benchmarks, GroupedVariants
from opperf.snippets.standard.pointwise import on_matrices

BENCHMARKS: Benchmarks = {
    **GroupedVariants(
        """
        Python                                | C++
        # @Setup
        x = torch.zeros((4, 4))               | auto x = torch::zeros({4, 4});
        y = torch.zeros((4, 4))               | auto y = torch::zeros({4, 4});
        z = torch.zeros((4, 4))               | auto z = torch::zeros({4, 4});
        scalar = torch.tensor(1.0)            | auto scalar = torch::tensor(1.0);

        # @to a result of the caller
        torch.add(x, y, out=z)                | torch::add_out(z, x, y);
        # @operator of the dispatcher
        torch.ops.aten.add.Tensor(x, y)       | at::_ops::add_Tensor::call(x, y, 1);
        # @past autograd
        torch.ops.aten.add.Tensor(x, y)       | at::AutoDispatchBelowAutograd guard; x.add(y);
        # @tensor without axes
        x + scalar                            | x + scalar;
        # @reversed operands
        1.0 - x                               | 1.0 - x;
        # @no work
        x.numel()                             | volatile auto found = x.numel();
        # @handle
        torch.is_tensor(x)                    | auto copy = x;
        """
    ),
    "no_grad": on_matrices("with torch.no_grad():\n    x + y", "torch::NoGradGuard guard;\nx + y;"),
    "inference_mode": on_matrices(
        "with torch.inference_mode():\n    x + y", "c10::InferenceMode guard;\nx + y;"
    ),
    "list of tensors": on_matrices(
        "torch._foreach_add([x, y], 1.0)", "torch::_foreach_add({x, y}, 1.0);"
    ),
}
