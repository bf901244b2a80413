"""New tensors: with and without memory of their own, filled and not."""

from opperf.snippets import GroupedVariants

BENCHMARKS = GroupedVariants(
    """
    Python                                    | C++
    # @Setup
    like = torch.zeros((4, 4))                | auto like = torch::zeros({4, 4});

    # @empty without elements
    torch.empty((0,))                         | torch::empty({0});
    # @empty of one element
    torch.empty((1,))                         | torch::empty({1});
    # @empty of a page
    torch.empty((1024,))                      | torch::empty({1024});
    # @empty of a dtype
    torch.empty((1,), dtype=torch.int64)      | torch::empty({1}, torch::kInt64);
    # @empty_like
    torch.empty_like(like)                    | torch::empty_like(like);
    # @new_empty
    like.new_empty((4,))                      | like.new_empty({4});
    # @zeros
    torch.zeros((4, 4))                       | torch::zeros({4, 4});
    # @ones
    torch.ones((4, 4))                        | torch::ones({4, 4});
    # @full
    torch.full((4, 4), 2.0)                   | torch::full({4, 4}, 2.0);
    # @arange
    torch.arange(16)                          | torch::arange(16);
    # @scalar
    torch.tensor(1.0)                         | torch::tensor(1.0);
    # @from a list
    torch.tensor([1.0, 2.0, 3.0, 4.0])        | torch::tensor({1.0, 2.0, 3.0, 4.0});
    # @random
    torch.rand((4, 4))                        | torch::rand({4, 4});
    """
)
