"""Runners of PyTorch's operators: a function for each category, and one for all."""

from __future__ import annotations

from opperf.api.selections import Runner, all_runner, category_runner

FRAMEWORK = "torch"

CATEGORIES = {
    "activation": "activations",
    "attention": "attention",
    "binary": "elementwise operators of two tensors",
    "conversion": "copies and conversions",
    "convolution": "convolution",
    "creation": "operators that make a new tensor",
    "cumulative": "cumulative sums and differences along an axis",
    "fft": "Fourier transforms",
    "gemm": "matrix products",
    "image": "operators that scale images",
    "indexing": "indexing, gathering and scattering",
    "joining": "operators that join tensors",
    "linalg": "linear algebra",
    "loss": "losses",
    "nested": "operators of nested tensors",
    "nn_basic": "layers of neural networks",
    "pooling": "pooling",
    "quantization": "quantised operators and their conversions",
    "query": "operators that return facts about a tensor",
    "random": "random sampling",
    "reduction": "reductions",
    "set": "unique values and membership",
    "shape": "operators that view, move and repeat elements",
    "sorting": "sorting and searching",
    "sparse": "operators of sparse tensors",
    "splitting": "operators that split tensors",
    "statistics": "histograms and counts",
    "transpose_convolution": "transposed convolution",
    "unary": "elementwise operators of one tensor",
    "window": "windows of signal processing",
}
"""The categories of PyTorch's operators, each with the title of its operators."""

RUNNERS: dict[str, Runner] = {
    category: category_runner(FRAMEWORK, category, f"run_{category}_operators_benchmarks", title)
    for category, title in CATEGORIES.items()
}
"""The runner of every category."""

run_activation_operators_benchmarks = RUNNERS["activation"]
run_attention_operators_benchmarks = RUNNERS["attention"]
run_binary_operators_benchmarks = RUNNERS["binary"]
run_conversion_operators_benchmarks = RUNNERS["conversion"]
run_convolution_operators_benchmarks = RUNNERS["convolution"]
run_creation_operators_benchmarks = RUNNERS["creation"]
run_cumulative_operators_benchmarks = RUNNERS["cumulative"]
run_fft_operators_benchmarks = RUNNERS["fft"]
run_gemm_operators_benchmarks = RUNNERS["gemm"]
run_image_operators_benchmarks = RUNNERS["image"]
run_indexing_operators_benchmarks = RUNNERS["indexing"]
run_joining_operators_benchmarks = RUNNERS["joining"]
run_linalg_operators_benchmarks = RUNNERS["linalg"]
run_loss_operators_benchmarks = RUNNERS["loss"]
run_nested_operators_benchmarks = RUNNERS["nested"]
run_nn_basic_operators_benchmarks = RUNNERS["nn_basic"]
run_pooling_operators_benchmarks = RUNNERS["pooling"]
run_quantization_operators_benchmarks = RUNNERS["quantization"]
run_query_operators_benchmarks = RUNNERS["query"]
run_random_operators_benchmarks = RUNNERS["random"]
run_reduction_operators_benchmarks = RUNNERS["reduction"]
run_set_operators_benchmarks = RUNNERS["set"]
run_shape_operators_benchmarks = RUNNERS["shape"]
run_sorting_operators_benchmarks = RUNNERS["sorting"]
run_sparse_operators_benchmarks = RUNNERS["sparse"]
run_splitting_operators_benchmarks = RUNNERS["splitting"]
run_statistics_operators_benchmarks = RUNNERS["statistics"]
run_transpose_convolution_operators_benchmarks = RUNNERS["transpose_convolution"]
run_unary_operators_benchmarks = RUNNERS["unary"]
run_window_operators_benchmarks = RUNNERS["window"]


run_all_torch_operator_benchmarks = all_runner(FRAMEWORK, "PyTorch's operators", RUNNERS)
