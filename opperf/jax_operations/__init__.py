"""Runners of JAX's functions: one for each category, and one for all."""

from __future__ import annotations

from opperf.api.selections import Runners

RUNNERS = Runners("jax")
"""The runner of every category."""

run_activation_operators_benchmarks = RUNNERS.add("activation", "activations")
run_binary_operators_benchmarks = RUNNERS.add("binary", "elementwise functions of two arrays")
run_collective_operators_benchmarks = RUNNERS.add("collective", "collectives of several devices")
run_conversion_operators_benchmarks = RUNNERS.add("conversion", "copies and conversions")
run_convolution_operators_benchmarks = RUNNERS.add("convolution", "convolution")
run_creation_operators_benchmarks = RUNNERS.add("creation", "functions that make a new array")
run_cumulative_operators_benchmarks = RUNNERS.add(
    "cumulative", "cumulative sums and differences along an axis"
)
run_fft_operators_benchmarks = RUNNERS.add("fft", "Fourier transforms")
run_gemm_operators_benchmarks = RUNNERS.add("gemm", "matrix products")
run_image_operators_benchmarks = RUNNERS.add("image", "functions that scale images")
run_indexing_operators_benchmarks = RUNNERS.add("indexing", "indexing, gathering and scattering")
run_joining_operators_benchmarks = RUNNERS.add("joining", "functions that join arrays")
run_linalg_operators_benchmarks = RUNNERS.add("linalg", "linear algebra")
run_nn_basic_operators_benchmarks = RUNNERS.add("nn_basic", "layers of neural networks")
run_other_operators_benchmarks = RUNNERS.add("other", "functions of no other category")
run_polynomial_operators_benchmarks = RUNNERS.add("polynomial", "polynomials")
run_python_function_operators_benchmarks = RUNNERS.add(
    "python_function", "functions that take a function"
)
run_random_operators_benchmarks = RUNNERS.add("random", "random sampling")
run_reduction_operators_benchmarks = RUNNERS.add("reduction", "reductions")
run_set_operators_benchmarks = RUNNERS.add("set", "unique values and membership")
run_shape_operators_benchmarks = RUNNERS.add("shape", "functions that move and repeat elements")
run_signal_operators_benchmarks = RUNNERS.add("signal", "signal processing")
run_sorting_operators_benchmarks = RUNNERS.add("sorting", "sorting and searching")
run_splitting_operators_benchmarks = RUNNERS.add("splitting", "functions that split arrays")
run_statistics_operators_benchmarks = RUNNERS.add(
    "statistics", "distributions, histograms and counts"
)
run_unary_operators_benchmarks = RUNNERS.add("unary", "elementwise functions of one array")
run_window_operators_benchmarks = RUNNERS.add("window", "windows of signal processing")

run_all_jax_operator_benchmarks = RUNNERS.all("JAX's functions")
