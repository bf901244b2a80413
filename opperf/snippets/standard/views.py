"""Views and metadata, which read and write no element."""

from opperf.snippets import GroupedVariants

BENCHMARKS = GroupedVariants(
    """
    Python                                | C++
    # @Setup
    x = torch.zeros((4, 4))               | auto x = torch::zeros({4, 4});
    cube = torch.zeros((2, 1, 4))         | auto cube = torch::zeros({2, 1, 4});

    # @size
    x.size()[0]                           | volatile auto found = x.size(0);
    # @shape
    x.shape                               | auto found = x.sizes().vec();
    # @stride
    x.stride(0)                           | volatile auto found = x.stride(0);
    # @dim
    x.dim()                               | volatile auto found = x.dim();
    # @numel
    x.numel()                             | volatile auto found = x.numel();
    # @is_contiguous
    x.is_contiguous()                     | volatile auto found = x.is_contiguous();
    # @data_ptr
    x.data_ptr()                          | void* volatile found = x.data_ptr();
    # @as_strided
    torch.as_strided(x, (3, 2), (4, 1), 1) | torch::as_strided(x, {3, 2}, {4, 1}, 1);
    # @select
    x.select(0, 2)                        | x.select(0, 2);
    # @narrow
    x.narrow(0, 1, 2)                     | x.narrow(0, 1, 2);
    # @slice
    x[1:3]                                | x.slice(0, 1, 3);
    # @unsqueeze
    x.unsqueeze(1)                        | x.unsqueeze(1);
    # @squeeze
    cube.squeeze(1)                       | cube.squeeze(1);
    # @view
    x.view(2, -1)                         | x.view({2, -1});
    # @reshape
    x.reshape(16)                         | x.reshape({16});
    # @flatten
    cube.flatten()                        | cube.flatten();
    # @t
    x.t()                                 | x.t();
    # @transpose
    cube.transpose(0, 2)                  | cube.transpose(0, 2);
    # @permute
    cube.permute(2, 0, 1)                 | cube.permute({2, 0, 1});
    # @expand
    cube.expand(2, 3, 4)                  | cube.expand({2, 3, 4});
    # @chunk
    x.chunk(2)                            | x.chunk(2);
    # @unbind
    x.unbind()                            | x.unbind();
    # @view as another dtype
    x.view(torch.int32)                   | x.view(torch::kInt32);
    # @detach
    x.detach()                            | x.detach();
    """
)
