"""Runners of PyTorch's operators: a function for each category, and one for all."""

from __future__ import annotations

from opperf.api.selections import Runners

RUNNERS = Runners("torch")
"""The runner of every category."""

run_activation_operators_benchmarks = RUNNERS.add("activation", "activations")
run_attention_operators_benchmarks = RUNNERS.add("attention", "attention")
run_binary_operators_benchmarks = RUNNERS.add("binary", "elementwise operators of two tensors")
run_conversion_operators_benchmarks = RUNNERS.add("conversion", "copies and conversions")
run_convolution_operators_benchmarks = RUNNERS.add("convolution", "convolution")
run_creation_operators_benchmarks = RUNNERS.add("creation", "operators that make a new tensor")
run_cumulative_operators_benchmarks = RUNNERS.add(
    "cumulative", "cumulative sums and differences along an axis"
)
run_fft_operators_benchmarks = RUNNERS.add("fft", "Fourier transforms")
run_foreach_operators_benchmarks = RUNNERS.add(
    "foreach", "operators over lists of tensors, of which optimizers are made"
)
run_gemm_operators_benchmarks = RUNNERS.add("gemm", "matrix products")
run_image_operators_benchmarks = RUNNERS.add("image", "operators that scale images")
run_indexing_operators_benchmarks = RUNNERS.add("indexing", "indexing, gathering and scattering")
run_joining_operators_benchmarks = RUNNERS.add("joining", "operators that join tensors")
run_linalg_operators_benchmarks = RUNNERS.add("linalg", "linear algebra")
run_loss_operators_benchmarks = RUNNERS.add("loss", "losses")
run_nested_operators_benchmarks = RUNNERS.add("nested", "operators of nested tensors")
run_nn_basic_operators_benchmarks = RUNNERS.add("nn_basic", "layers of neural networks")
run_optimizer_operators_benchmarks = RUNNERS.add("optimizer", "updates of parameters in one call")
run_pooling_operators_benchmarks = RUNNERS.add("pooling", "pooling")
run_quantization_operators_benchmarks = RUNNERS.add(
    "quantization", "quantised operators and their conversions"
)
run_query_operators_benchmarks = RUNNERS.add("query", "operators that return facts about a tensor")
run_random_operators_benchmarks = RUNNERS.add("random", "random sampling")
run_reduction_operators_benchmarks = RUNNERS.add("reduction", "reductions")
run_set_operators_benchmarks = RUNNERS.add("set", "unique values and membership")
run_shape_operators_benchmarks = RUNNERS.add(
    "shape", "operators that view, move and repeat elements"
)
run_sorting_operators_benchmarks = RUNNERS.add("sorting", "sorting and searching")
run_sparse_operators_benchmarks = RUNNERS.add("sparse", "operators of sparse tensors")
run_splitting_operators_benchmarks = RUNNERS.add("splitting", "operators that split tensors")
run_statistics_operators_benchmarks = RUNNERS.add("statistics", "histograms and counts")
run_transpose_convolution_operators_benchmarks = RUNNERS.add(
    "transpose_convolution", "transposed convolution"
)
run_unary_operators_benchmarks = RUNNERS.add("unary", "elementwise operators of one tensor")
run_window_operators_benchmarks = RUNNERS.add("window", "windows of signal processing")

run_all_torch_operator_benchmarks = RUNNERS.all("PyTorch's operators")
