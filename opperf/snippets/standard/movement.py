"""Copies, conversions and writes that compute nothing."""

from opperf.snippets import Benchmarks, GroupedVariants, parse_stmts
from opperf.snippets.standard.pointwise import on_matrices

BENCHMARKS: Benchmarks = {
    **GroupedVariants(
        """
        Python                                | C++
        # @Setup
        torch.manual_seed(1)                  | torch::manual_seed(1);
        x = torch.rand((4, 4))                | auto x = torch::rand({4, 4});
        y = torch.rand((4, 4))                | auto y = torch::rand({4, 4});

        # @contiguous, as it is
        x.contiguous()                        | x.contiguous();
        # @contiguous, by a copy
        x.t().contiguous()                    | x.t().contiguous();
        # @clone
        x.clone()                             | x.clone();
        # @copy_
        x.copy_(y)                            | x.copy_(y);
        # @copy_, transposed
        x.copy_(y.t())                        | x.copy_(y.t());
        # @zero_
        x.zero_()                             | x.zero_();
        # @fill_
        x.fill_(0.5)                          | x.fill_(0.5);
        # @uniform_
        x.uniform_()                          | x.uniform_();
        # @normal_
        x.normal_()                           | x.normal_();
        # @to the same dtype
        x.to(torch.float32)                   | x.to(torch::kFloat32);
        # @to another dtype
        x.to(torch.float64)                   | x.to(torch::kFloat64);
        # @cat
        torch.cat([x, y])                     | torch::cat({x, y});
        # @stack
        torch.stack([x, y])                   | torch::stack({x, y});
        # @repeat
        x.repeat(2, 1)                        | x.repeat({2, 1});
        # @item
        x[0, 0].item()                        | x[0][0].item<float>();
        """
    ),
    "resize_": on_matrices(
        *parse_stmts(
            """
            Python            | C++
            x.resize_((0,))   | x.resize_({0});
            x.resize_((4, 4)) | x.resize_({4, 4});
            """
        )
    ),
}
