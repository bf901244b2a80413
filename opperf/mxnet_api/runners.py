"""The category runners: a function for each category of `mx.nd`'s operators, and one for all."""

from __future__ import annotations

from opperf.api.selections import Runners
from opperf.mxnet_api import FRAMEWORK

CATEGORIES = {
    "rearrange": ("run_rearrange_operators_benchmarks", "operators that rearrange elements"),
    "shape": ("run_shape_operators_benchmarks", "operators that change or read a shape"),
    "expanding": ("run_expanding_operators_benchmarks", "operators that expand or repeat an array"),
    "rounding": ("run_rounding_operators_benchmarks", "rounding"),
    "join_split": ("run_join_split_operators_benchmarks", "operators that join or split arrays"),
    "binary_broadcast": (
        "run_mx_binary_broadcast_operators_benchmarks",
        "operators of two tensors that broadcast",
    ),
    "binary_elementwise": (
        "run_mx_binary_element_wise_operators_benchmarks",
        "operators of two tensors of one shape",
    ),
    "binary_misc": (
        "run_mx_binary_misc_operators_benchmarks",
        "the other operators of two tensors",
    ),
    "gemm": ("run_gemm_operators_benchmarks", "matrix products: dot, batch_dot, khatri_rao"),
    "graph": ("run_graph_operators_benchmarks", "operators on graphs stored as sparse matrices"),
    "creation": ("run_creation_operators_benchmarks", "operators that make a new array"),
    "cumulative": (
        "run_cumulative_operators_benchmarks",
        "cumulative sums and differences along an axis",
    ),
    "conversion": (
        "run_conversion_operators_benchmarks",
        "conversions between dtypes and between storage formats",
    ),
    "indexing": ("run_indexing_routines_benchmarks", "indexing, slicing, gathering and scattering"),
    "linalg": ("run_linalg_operators_benchmarks", "linear algebra"),
    "misc": (
        "run_mx_misc_operators_benchmarks",
        "the operators of no other category, with the custom operator `CustomAddOne`",
    ),
    "activation": ("run_activation_operators_benchmarks", "activations, each kind on each shape"),
    "nn_basic": ("run_nn_basic_operators_benchmarks", "layers of neural networks"),
    "attention": ("run_attention_operators_benchmarks", "the matrix products of attention layers"),
    "pooling": ("run_pooling_operators_benchmarks", "pooling by windows and of regions"),
    "convolution": ("run_convolution_operators_benchmarks", "convolution"),
    "transpose_convolution": (
        "run_transpose_convolution_operators_benchmarks",
        "transposed convolution",
    ),
    "loss": ("run_loss_operators_benchmarks", "losses and output layers"),
    "optimizer": ("run_optimizer_operators_benchmarks", "optimizers' updates"),
    "quantization": (
        "run_quantization_operators_benchmarks",
        "quantised operators and their conversions",
    ),
    "random_sampling": (
        "run_mx_random_sampling_operators_benchmarks",
        "random sampling and the densities of distributions",
    ),
    "reduction": (
        "run_mx_reduction_operators_benchmarks",
        "reductions over axis 0, axis 1 and all axes",
    ),
    "sorting_searching": ("run_sorting_searching_operators_benchmarks", "sorting and searching"),
    "unary": ("run_mx_unary_operators_benchmarks", "operators of one tensor and nothing else"),
    "image": ("run_image_operators_benchmarks", "operators on images"),
    "detection": (
        "run_detection_operators_benchmarks",
        "object detection: boxes, anchors, proposals",
    ),
}
"""The name of each category's runner, and the title of its operators."""

RUNNERS = Runners(FRAMEWORK)
"""The runner of every category."""

for _category, (_name, _title) in CATEGORIES.items():
    RUNNERS.add(_category, _title, _name)

run_all_mxnet_operator_benchmarks = RUNNERS.all("`mx.nd`'s operators")
