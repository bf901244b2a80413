"""The canonical operations, by the module of their references and by their inputs.

A role is an input's usual name, and the name of the reference's parameter.
"""

from __future__ import annotations

from opperf.operations import distributions, linear_algebra, losses, special
from opperf.operations.canonical import CanonicalOperation, operations

ALL: tuple[CanonicalOperation, ...] = (
    *operations(
        "unary",
        {
            "x:tensor": (
                "absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil "
                "cos cosh degrees digamma divided_by_root_of_width erf erfinv exp exp2 expm1 "
                "floor fractional_part frexp gamma gammaln i0 identity isfinite isinf isnan "
                "isneginf isposinf leading_zeros log log10 log1p log2 log_sigmoid logical_not "
                "mish nan_to_num negative ones_in_bits ones_like radians rcbrt reciprocal relu "
                "rint round_half_away rsqrt sigmoid sign signbit sin sinc sinh softplus "
                "softsign sqrt square tan tanh trunc zeros_like"
            ),
            "coefficients:tensor x:tensor": "polynomial",
            "x:tensor low:float high:float": "clip",
            "x:tensor slope:float offset:float": "affine_clip",
            "x:tensor decimals:int": "round_to",
            "x:tensor exponent_bits:int mantissa_bits:int": "round_to_bits",
            "z:tensor": "angle complex_sign conjugate imag isreal real",
        },
    ),
    *operations(
        "optimizers",
        {
            "weight:tensor gradient:tensor rate:float decay:float": "sgd_update sign_sgd_update",
            "weight:tensor gradient:tensor squares:tensor rate:float epsilon:float": (
                "adagrad_by_row_update adagrad_update"
            ),
            (
                "weight:tensor gradient:tensor step:tensor rate:float decay:float momentum:float"
            ): "nesterov_update sgd_momentum_update",
            (
                "rates:tensor weight_squares:tensor gradient_squares:tensor decays:tensor "
                "eta:float epsilon:float"
            ): "lars_rates",
            (
                "weight:tensor direction:tensor weight_norm:tensor direction_norm:tensor rate:float"
            ): "lamb_move",
            (
                "weight:tensor gradient:tensor divisor:tensor variance:tensor leader:tensor "
                "rate:float step_count:int decay:float beta1:float beta2:float epsilon:float"
            ): "ftml_update",
            (
                "weight:tensor gradient:tensor leader:tensor squares:tensor rate:float "
                "decay:float lasso:float beta:float"
            ): "ftrl_update",
            (
                "weight:tensor gradient:tensor mean:tensor variance:tensor rate:float "
                "decay:float beta1:float beta2:float epsilon:float"
            ): "adam_update",
            (
                "weight:tensor gradient:tensor mean:tensor variance:tensor rate:float "
                "decay:float beta1:float beta2:float epsilon:float gradient_scale:tensor "
                "step_scale:float"
            ): "adamw_update",
            (
                "weight:tensor gradient:tensor mean:tensor variance:tensor step_count:int "
                "decay:float beta1:float beta2:float epsilon:float"
            ): "lamb_direction",
            (
                "weight:tensor gradient:tensor squares:tensor mean:tensor step:tensor "
                "rate:float decay:float gamma:float momentum:float epsilon:float"
            ): "rmsprop_centred_update",
            (
                "weight:tensor gradient:tensor squares:tensor rate:float decay:float "
                "gamma:float epsilon:float"
            ): "rmsprop_update",
            (
                "weight:tensor gradient:tensor step:tensor rate:float decay:float "
                "momentum:float separate_decay:float"
            ): "signum_update",
            (
                "weight:tensor rate:float gradient:tensor mean:tensor variance:tensor "
                "decay:float step_count:int beta1:float beta2:float epsilon:float"
            ): "lamb_update",
        },
    ),
    *operations(
        "convolutions",
        {
            (
                "data:tensor weight:tensor bias:tensor stride:shape dilation:shape "
                "padding:shape groups:int"
            ): "convolution",
            (
                "data:tensor weight:tensor bias:tensor stride:shape dilation:shape "
                "padding:shape groups:int output_padding:shape"
            ): "deconvolution",
            "data:tensor kernel:shape stride:shape dilation:shape padding:shape": "im2col",
            (
                "data:tensor output_size:shape kernel:shape stride:shape dilation:shape "
                "padding:shape"
            ): "col2im",
        },
    ),
    *operations(
        "pooling",
        {
            (
                "data:tensor kernel:shape stride:shape padding:shape kind:enum dilation:shape "
                "ceil:bool counts_border:bool divisor:int"
            ): "pooling",
            (
                "data:tensor kernel:shape stride:shape padding:shape dilation:shape ceil:bool"
            ): "max_pooling",
            "data:tensor kind:enum": "global_pooling",
            "data:tensor output_size:shape": "adaptive_average_pooling adaptive_max_pooling",
            "data:tensor indices:tensor output_size:shape": "max_unpooling",
            ("data:tensor kernel:shape output_size:shape samples:tensor"): "fractional_max_pooling",
        },
    ),
    *operations(
        "binary",
        {
            "x:tensor y:tensor": (
                "add arctan2 bitwise_and bitwise_or bitwise_xor complex copysign divide equal "
                "floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot lcm "
                "ldexp left_shift less less_equal logaddexp logaddexp2 logical_and logical_or "
                "logical_xor maximum minimum multiply not_equal polar power remainder right_shift "
                "same_elements subtract"
            ),
            "x:tensor y:tensor relative:float absolute:float": "allclose isclose",
            "tensors:tensors": "sum_of_many",
        },
    ),
    *operations(
        "reductions",
        {
            "x:tensor axis:axes keepdims:bool": (
                "all any count_nonzero exclusive_or logsumexp lower_median lower_nanmedian max "
                "mean min min_and_max nanmean nanprod nansum prod ptp sum sum_of_squares"
            ),
            "x:tensor axis:axes keepdims:bool correction:float": "moments std var",
            "tensors:tensors": "all_finite sums_of_squares",
            "x:tensor axis:axis": "cumlogsumexp cummax cummin cumprod cumsum",
            "x:tensor axis:axis keepdims:bool": "mode",
            "x:tensor axis:axes": "median",
            "x:tensor share:tensor axis:axes": "nanquantile quantile",
            "y:tensor x:tensor spacing:float axis:axis": "cumulative_trapezoid trapezoid",
            "data:tensor lengths:tensor reduction:enum": "segment_reduce",
            "x:tensor": "trace",
            "x:tensor order:int axis:axes": "norm",
            "x:tensor weights:tensor axis:axes": "average",
        },
    ),
    *operations(
        "creation",
        {
            "length:int": "bartlett_window blackman_window hamming_window hann_window",
            "count:int spacing:float": "fourier_frequencies real_fourier_frequencies",
            "length:int alpha:float beta:float": "general_hamming_window",
            "length:int beta:float": "kaiser_window",
            "rows:int columns:int offset:int": "eye",
            "rows:int columns:int offset:tensor": "tri",
            "rows:int offset:tensor columns:int": "tril_indices triu_indices",
            "shape:shape": "indices",
            "shape:shape value:float": "full",
            "start:float stop:float num:int": "logspace",
            "start:float stop:float num:int endpoint:bool": "linspace",
            "start:float stop:float step:float": "arange",
            "tensors:tensors value:int": "full_of_each",
            "x:tensor columns:int": "vandermonde",
            "x:tensor known:tensor values:tensor": "interpolate",
            "x:tensor order:int axis:axis": "difference",
            "x:tensor spacing:tensors axis:axes": "gradient",
            "x:tensor value:float": "full_like",
            "x:tensor y:tensor": "shares_memory",
        },
    ),
    *operations(
        "sorting",
        {
            "x:tensor y:tensor": "isin set_difference set_exclusive_or set_intersection set_union",
            "x:tensor axis:axis": "argmax argmin argsort sort",
            "ordered:tensor values:tensor side:enum": "searchsorted",
            "x:tensor index:bool inverse:bool counts:bool": "unique",
            "x:tensor count:int bounds:shape edges:tensor": "histogram",
            "x:tensor k:int gives:enum axis:axis": "top_k",
            "x:tensor k:int axis:axis": "kth_smallest",
            "x:tensor axis:axis inverse:bool counts:bool": "unique_runs unique_slices",
            "x:tensor count:shape bounds:shape edges:tensors": "histogram_of_points",
            "x:tensor least:int weights:tensor": "bincount",
        },
    ),
    *operations(
        "shapes",
        {
            "tensors:tensors": (
                "atleast_1d atleast_2d atleast_3d block_diagonal broadcast_together column_stack "
                "dstack hstack vstack"
            ),
            "tensors:tensors indexing:enum": "meshgrid",
            "tensors:tensors value:float": "pad_sequences",
            "x:tensor length:int repeated:bool": "combinations",
            "x:tensor": "diag_indices_from diagflat flatten shape size",
            "x:tensor offset:int": "diag tril triu",
            "data:tensor block:int": (
                "depth_to_space pixel_shuffle pixel_unshuffle space_to_depth"
            ),
            "data:tensor groups:int": "channel_shuffle",
            "tensors:tensors axis:axis": "concatenate stack",
            "x:tensor axes:axes": "indices_of_elements transpose",
            "x:tensor axis:axes": "flip squeeze",
            "x:tensor axis:axis": "arange_like expand_dims unstack",
            "x:tensor like:tensor": "broadcast_like reshape_like",
            "x:tensor shape:shape": "broadcast reshape",
            "data:tensor offset:shape size:shape": "crop",
            "x:tensor axis1:axis axis2:axis": "swapaxes",
            "x:tensor axis:axes extents:shape": "broadcast_axes",
            "x:tensor axis:axis parts:int starts:shape": "split",
            "x:tensor axis:tensor start:int": "rollaxis",
            "x:tensor axis:axis size:int step:int": "sliding_windows",
            "x:tensor dtype:dtype": "bitcast cast",
            "x:tensor offset:int axis1:axis axis2:axis": "diagonal diagonal_embedding",
            "x:tensor shift:shape axis:axes": "roll",
            "x:tensor source:axes destination:axes": "moveaxis",
            "x:tensor times:int axes:axes": "rot90",
            "x:tensor times:int axis:axis": "repeat",
            "x:tensor times:shape": "tile",
            "gradient:tensor shape:shape widths:shape mode:enum": "pad_gradient",
            "x:tensor shape:shape strides:shape offset:int": "as_strided",
            "x:tensor widths:shape mode:enum": "pad",
        },
    ),
    *operations(
        "normalisation",
        {
            "data:tensor axis:axis temperature:float": "log_softmax softmin",
            "data:tensor axis:axis temperature:float lengths:tensor": "softmax",
            "data:tensor scale:tensor shift:tensor epsilon:float": "batch_norm_relu instance_norm",
            (
                "data:tensor mean:tensor variance:tensor scale:tensor shift:tensor axis:axis "
                "epsilon:float"
            ): "batch_norm_inference",
            (
                "data:tensor mean:tensor variance:tensor scale:tensor shift:tensor epsilon:float"
            ): "batch_norm_relu_inference",
            "data:tensor mask:tensor axis:tensor": "masked_log_softmax masked_softmax",
            "data:tensor alpha:float beta:float offset:float channels:int": "local_response_norm",
            "data:tensor axes:axes epsilon:float": "unit_length",
            "data:tensor scale:tensor epsilon:float": "rms_norm",
            "data:tensor order:float axis:axis limit:float": "renorm",
            "data:tensor indices:tensor order:float limit:float": "renorm_of_rows",
            "x:tensor y:tensor axis:axis epsilon:float": "cosine_similarity",
            "data:tensor scale:tensor shift:tensor axis:axis epsilon:float": (
                "batch_norm layer_norm"
            ),
            "data:tensor scale:tensor shift:tensor groups:int epsilon:float": "group_norm",
        },
    ),
    *operations(
        "indexing",
        {
            "data:tensor indices:tensor values:tensor": (
                "index_add index_copy index_update put put_along_last"
            ),
            "data:tensor indices:tensor": "gather take_along_last",
            "data:tensor indices:tensors": "advanced_indexing",
            "data:tensor indices:tensors values:tensor accumulate:bool": "advanced_assignment",
            (
                "data:tensor indices:tensor values:tensor axis:axis reduction:enum "
                "include_data:bool"
            ): "scatter_elements",
            "data:tensor indices:tensor axis:axis": "pick take",
            "x:tensor": "flat_nonzero nonzero",
            "choices:tensors indices:tensor": "choose",
            "condition:tensor x:tensor y:tensor": "where",
            "data:tensor axis:axis begin:int end:int": "slice_axis",
            "data:tensor begin:shape end:shape step:shape": "slice",
            "data:tensor columns:tensor values:tensor": "scatter_rows",
            "data:tensor indices:tensor shape:shape": "scatter",
            "data:tensor like:tensor axes:axes": "slice_like",
            "data:tensor mask:tensor": "boolean_mask",
            "data:tensor mask:tensor values:tensor": "masked_fill place",
            "data:tensor rows:tensor": "retain_rows",
            "data:tensor value:int": "fill_diagonal",
            "data:tensor values:tensor begin:shape end:shape step:shape": "slice_assign",
            "data:tensor weight:tensor": "embedding",
            "data:tensor where:tensor axis:axis": "delete",
            "data:tensor where:tensor values:tensor axis:axis": "insert",
            "flat:tensor shape:shape": "unravel_index",
            "indices:tensor depth:int": "one_hot",
            "indices:tensors shape:shape": "ravel_multi_index",
        },
    ),
    *operations(
        "transforms",
        {
            "x:tensor axes:axes": (
                "fourier_transform hermitian_fourier_transform inverse_fourier_transform "
                "inverse_hermitian_fourier_transform inverse_real_fourier_transform "
                "real_fourier_transform cosine_transform inverse_cosine_transform"
            ),
            "x:tensor window:tensor hop:int centred:bool": "short_time_fourier_transform",
            "x:tensor window:tensor hop:int": "inverse_short_time_fourier_transform",
        },
    ),
    *operations(
        "images",
        {
            "data:tensor output_size:shape align_corners:bool": "upsample_cubic upsample_linear",
            "data:tensor output_size:shape": "upsample_nearest",
            "gradient:tensor input_size:shape align_corners:bool": (
                "upsample_cubic_gradient upsample_linear_gradient"
            ),
            "gradient:tensor input_size:shape": "upsample_nearest_gradient",
        },
    ),
    *operations(
        "layers",
        {
            "data:tensor lengths:tensor": "sequence_last sequence_mask sequence_reverse",
            "x:tensor": "gelu gelu_tanh hard_sigmoid hard_swish hard_tanh relu6 selu silu",
            "data:tensor rate:float axes:axes": "alpha_dropout dropout",
            "data:tensor rate:float": "dropout_inference",
            "data:tensor weight:tensor bias:tensor": "dense",
            (
                "data:tensor weight:tensor offsets:tensor kind:enum shares:tensor padding:int "
                "has_end:bool"
            ): "embedding_bag",
            "x:tensor slope:float": "celu elu",
            "x:tensor axis:axis": "glu",
            "x:tensor threshold:float": "hard_shrink soft_shrink",
            "x:tensor slope:tensor": "leaky_relu",
        },
    ),
    *operations(
        "attention",
        {
            "query:tensor key:tensor value:tensor mask:tensor causal:bool scale:float": "attention",
        },
    ),
    *operations(
        "grids",
        {
            "theta:tensor extents:shape align:bool": "affine_grid",
            "data:tensor grid:tensor kind:enum padding:enum align:bool": "grid_sample",
        },
    ),
    *operations(
        "recurrent",
        {
            (
                "data:tensor weights:tensors biases:tensors state:tensor bidirectional:bool "
                "cell:tensor lengths:tensor states:bool"
            ): "gru lstm rnn_relu rnn_tanh",
        },
    ),
    *operations(
        "quantization",
        {
            "data:tensor scale:tensor": "dequantize",
            "x:tensor end:float": "quantize_symmetric",
            ("x:tensor scale:tensor zero_point:tensor low:int high:int axis:axis"): "fake_quantize",
        },
    ),
    *operations(
        "sampling",
        {
            "loc:float scale:float": "random_gumbel random_laplace random_logistic random_normal",
            "a:float": "random_pareto random_power random_weibull",
            "df:float": "random_chi_square random_student_t",
            "p:float": "random_geometric random_log_series",
            "sample:tensor is_log:bool rate:tensor": "exponential_density poisson_density",
            "scale:float": "random_exponential random_rayleigh",
            "": "random_cauchy",
            "a:float b:float": "random_beta",
            "data:tensor": "shuffle",
            "df1:float df2:float": "random_f",
            "df:float noncentrality:float": "random_noncentral_chi_square",
            "failures:float p:float": "random_negative_binomial",
            "good:int bad:int draws:int": "random_hypergeometric",
            "limit:int shape:shape": "random_log_uniform_classes",
            "low:float high:float": "random_uniform",
            "low:float mode:float high:float": "random_triangular",
            "low:int high:int": "random_uniform_integer",
            "mean:float scale:float": "random_wald",
            "mean:float sigma:float": "random_log_normal",
            "mu:float alpha:float": "random_generalized_negative_binomial",
            "n:int p:float": "random_binomial",
            "n:int probabilities:tensor size:shape": "random_multinomial",
            "population:int size:shape replace:bool": "random_choice",
            "probabilities:tensor": "random_categorical",
            "probabilities:tensor count:int": "random_distinct_categories",
            "rate:float": "random_poisson",
            "sample:tensor is_log:bool alpha:tensor": "dirichlet_density",
            "sample:tensor is_log:bool failures:tensor p:tensor": "negative_binomial_density",
            "sample:tensor is_log:bool loc:tensor scale:tensor": "normal_density",
            "sample:tensor is_log:bool low:tensor high:tensor": "uniform_density",
            "sample:tensor is_log:bool mu:tensor alpha:tensor": (
                "generalized_negative_binomial_density"
            ),
            "sample:tensor is_log:bool shape:tensor rate:tensor": "gamma_density",
            "shape:float scale:float": "random_gamma",
        },
    ),
    *distributions.ALL,
    *linear_algebra.ALL,
    *losses.ALL,
    *special.ALL,
)
