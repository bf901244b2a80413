"""Runners of JAX's functions: one for each category, and one for all."""

from __future__ import annotations

from opperf.api.selections import Runner, all_runner, category_runner

FRAMEWORK = "jax"

CATEGORIES = {
    "activation": "activations",
    "binary": "elementwise functions of two arrays",
    "conversion": "copies and conversions",
    "convolution": "convolution",
    "creation": "functions that make a new array",
    "cumulative": "cumulative sums and differences along an axis",
    "fft": "Fourier transforms",
    "gemm": "matrix products",
    "image": "functions that scale images",
    "indexing": "indexing, gathering and scattering",
    "joining": "functions that join arrays",
    "linalg": "linear algebra",
    "nn_basic": "layers of neural networks",
    "other": "functions of no other category",
    "polynomial": "polynomials",
    "python_function": "functions that take a function",
    "random": "random sampling",
    "reduction": "reductions",
    "set": "unique values and membership",
    "shape": "functions that move and repeat elements",
    "signal": "signal processing",
    "sorting": "sorting and searching",
    "splitting": "functions that split arrays",
    "statistics": "distributions, histograms and counts",
    "unary": "elementwise functions of one array",
    "window": "windows of signal processing",
}
"""The categories of JAX's functions, each with the title of its functions."""

RUNNERS: dict[str, Runner] = {
    category: category_runner(FRAMEWORK, category, f"run_{category}_operators_benchmarks", title)
    for category, title in CATEGORIES.items()
}
"""The runner of every category."""

run_activation_operators_benchmarks = RUNNERS["activation"]
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
run_nn_basic_operators_benchmarks = RUNNERS["nn_basic"]
run_other_operators_benchmarks = RUNNERS["other"]
run_polynomial_operators_benchmarks = RUNNERS["polynomial"]
run_python_function_operators_benchmarks = RUNNERS["python_function"]
run_random_operators_benchmarks = RUNNERS["random"]
run_reduction_operators_benchmarks = RUNNERS["reduction"]
run_set_operators_benchmarks = RUNNERS["set"]
run_shape_operators_benchmarks = RUNNERS["shape"]
run_signal_operators_benchmarks = RUNNERS["signal"]
run_sorting_operators_benchmarks = RUNNERS["sorting"]
run_splitting_operators_benchmarks = RUNNERS["splitting"]
run_statistics_operators_benchmarks = RUNNERS["statistics"]
run_unary_operators_benchmarks = RUNNERS["unary"]
run_window_operators_benchmarks = RUNNERS["window"]

run_all_jax_operator_benchmarks = all_runner(FRAMEWORK, "JAX's functions", RUNNERS)
