"""The category runners: a function for each category of `mx.nd`'s operators, and one for all."""

from __future__ import annotations

from opperf.api.selections import Runners
from opperf.mxnet_api import FRAMEWORK

CATEGORIES = {
    "rearrange": "operators that rearrange elements",
    "shape": "operators that change or read a shape",
    "expanding": "operators that expand or repeat an array",
    "rounding": "rounding",
    "join_split": "operators that join or split arrays",
    "binary_broadcast": "operators of two tensors that broadcast",
    "binary_elementwise": "operators of two tensors of one shape",
    "binary_misc": "the other operators of two tensors",
    "gemm": "matrix products: dot, batch_dot, khatri_rao",
    "graph": "operators on graphs stored as sparse matrices",
    "creation": "operators that make a new array",
    "cumulative": "cumulative sums and differences along an axis",
    "conversion": "conversions between dtypes and between storage formats",
    "indexing": "indexing, slicing, gathering and scattering",
    "linalg": "linear algebra",
    "misc": "the operators of no other category, with the custom operator `CustomAddOne`",
    "activation": "activations, each kind on each shape",
    "nn_basic": "layers of neural networks",
    "attention": "the matrix products of attention layers",
    "pooling": "pooling by windows and of regions",
    "convolution": "convolution",
    "transpose_convolution": "transposed convolution",
    "loss": "losses and output layers",
    "optimizer": "optimizers' updates",
    "quantization": "quantised operators and their conversions",
    "random_sampling": "random sampling and the densities of distributions",
    "reduction": "reductions over axis 0, axis 1 and all axes",
    "sorting_searching": "sorting and searching",
    "unary": "operators of one tensor and nothing else",
    "image": "operators on images",
    "detection": "object detection: boxes, anchors, proposals",
}
"""The title of each category's operators."""

NAMES = {
    "binary_broadcast": "run_mx_binary_broadcast_operators_benchmarks",
    "binary_elementwise": "run_mx_binary_element_wise_operators_benchmarks",
    "binary_misc": "run_mx_binary_misc_operators_benchmarks",
    "indexing": "run_indexing_routines_benchmarks",
    "misc": "run_mx_misc_operators_benchmarks",
    "random_sampling": "run_mx_random_sampling_operators_benchmarks",
    "reduction": "run_mx_reduction_operators_benchmarks",
    "unary": "run_mx_unary_operators_benchmarks",
}
"""Names of runners that are not the usual ones, by category."""

RUNNERS = Runners(FRAMEWORK)

for _category, _title in CATEGORIES.items():
    RUNNERS.add(_category, _title, NAMES.get(_category, ""))

run_all_mxnet_operator_benchmarks = RUNNERS.all("`mx.nd`'s operators")
