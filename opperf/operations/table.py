"""The canonical operations, by the module of their references and by their inputs. A role is an
input's usual name, and the name of the reference's parameter."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.operations import distributions, linear_algebra
from opperf.operations.uses import CanonicalOperation, operations

TABLE: Mapping[str, Mapping[str, str]] = {
    "unary": {
        "x": (
            "absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh "
            "degrees digamma divided_by_root_of_width erf erfinv exp exp2 expm1 floor "
            "fractional_part frexp gamma gammaln i0 identity isfinite isinf isnan isneginf "
            "isposinf leading_zeros log log10 log1p log2 log_sigmoid logical_not mish nan_to_num "
            "negative ones_in_bits ones_like radians rcbrt reciprocal relu rint round_half_away "
            "rsqrt sigmoid sign signbit sin sinc sinh softplus softsign sqrt square tan tanh trunc "
            "zeros_like"
        ),
        "coefficients x": "polynomial",
        "x low:float high:float": "clip",
        "x slope:float offset:float": "affine_clip",
        "x decimals:int": "round_to",
        "x exponent_bits:int mantissa_bits:int": "round_to_bits",
        "z": "angle complex_sign conjugate imag isreal real",
        "data scale": "dequantize",
        "x end:float": "quantize_symmetric",
        "x scale zero_point low:int high:int axis:axis": "fake_quantize",
    },
    "optimizers": {
        "weight gradient rate:float decay:float": "sgd_update sign_sgd_update",
        "weight gradient squares rate:float epsilon:float": "adagrad_by_row_update adagrad_update",
        "weight gradient step rate:float decay:float momentum:float": (
            "nesterov_update sgd_momentum_update"
        ),
        "rates weight_squares gradient_squares decays eta:float epsilon:float": "lars_rates",
        "weight direction weight_norm direction_norm rate:float": "lamb_move",
        (
            "weight gradient divisor variance leader rate:float step_count:int decay:float "
            "beta1:float beta2:float epsilon:float"
        ): "ftml_update",
        "weight gradient leader squares rate:float decay:float lasso:float beta:float": (
            "ftrl_update"
        ),
        (
            "weight gradient mean variance rate:float decay:float beta1:float beta2:float "
            "epsilon:float"
        ): "adam_update",
        (
            "weight gradient mean variance rate:float decay:float beta1:float beta2:float "
            "epsilon:float gradient_scale step_scale:float"
        ): "adamw_update",
        (
            "weight gradient mean variance step_count:int decay:float beta1:float beta2:float "
            "epsilon:float"
        ): "lamb_direction",
        (
            "weight gradient squares mean step rate:float decay:float gamma:float momentum:float "
            "epsilon:float"
        ): "rmsprop_centred_update",
        "weight gradient squares rate:float decay:float gamma:float epsilon:float": (
            "rmsprop_update"
        ),
        "weight gradient step rate:float decay:float momentum:float separate_decay:float": (
            "signum_update"
        ),
        (
            "weight rate:float gradient mean variance decay:float step_count:int beta1:float "
            "beta2:float epsilon:float"
        ): "lamb_update",
    },
    "windows": {
        "data weight bias stride:shape dilation:shape padding:shape groups:int": "convolution",
        (
            "data weight bias stride:shape dilation:shape padding:shape groups:int "
            "output_padding:shape"
        ): "deconvolution",
        "data kernel:shape stride:shape dilation:shape padding:shape": "im2col",
        "data output_size:shape kernel:shape stride:shape dilation:shape padding:shape": "col2im",
        (
            "data kernel:shape stride:shape padding:shape kind:enum dilation:shape ceil:bool "
            "counts_border:bool divisor:int"
        ): "pooling",
        "data kernel:shape stride:shape padding:shape dilation:shape ceil:bool": "max_pooling",
        "data kind:enum": "global_pooling",
        "data output_size:shape": "adaptive_average_pooling adaptive_max_pooling",
        "data indices output_size:shape": "max_unpooling",
        "data kernel:shape output_size:shape samples": "fractional_max_pooling",
    },
    "binary": {
        "x y": (
            "add arctan2 bitwise_and bitwise_or bitwise_xor complex copysign divide equal "
            "floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot lcm ldexp "
            "left_shift less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor "
            "maximum minimum multiply not_equal polar power remainder right_shift same_elements "
            "subtract"
        ),
        "x y relative:float absolute:float": "allclose isclose",
        "tensors:tensors": "sum_of_many",
    },
    "reductions": {
        "x axis:axes keepdims:bool": (
            "all any count_nonzero exclusive_or logsumexp lower_median lower_nanmedian max mean "
            "min min_and_max nanmean nanprod nansum prod ptp sum sum_of_squares"
        ),
        "x axis:axes keepdims:bool correction:float": "moments std var",
        "tensors:tensors": "all_finite sums_of_squares",
        "x axis:axis": "cumlogsumexp cummax cummin cumprod cumsum",
        "x axis:axis keepdims:bool": "mode",
        "x axis:axes": "median",
        "x share axis:axes": "nanquantile quantile",
        "y x spacing:float axis:axis": "cumulative_trapezoid trapezoid",
        "data lengths reduction:enum": "segment_reduce",
        "x": "trace",
        "x order:int axis:axes": "norm",
        "x weights axis:axes": "average",
    },
    "creation": {
        "length:int": "bartlett_window blackman_window hamming_window hann_window",
        "count:int spacing:float": "fourier_frequencies real_fourier_frequencies",
        "length:int alpha:float beta:float": "general_hamming_window",
        "length:int beta:float": "kaiser_window",
        "rows:int columns:int offset:int": "eye",
        "rows:int columns:int offset": "tri",
        "rows:int offset columns:int": "tril_indices triu_indices",
        "shape:shape": "indices",
        "shape:shape value:float": "full",
        "start:float stop:float num:int": "logspace",
        "start:float stop:float num:int endpoint:bool": "linspace",
        "start:float stop:float step:float": "arange",
        "tensors:tensors value:int": "full_of_each",
        "x columns:int": "vandermonde",
        "x known values": "interpolate",
        "x order:int axis:axis": "difference",
        "x spacing:tensors axis:axes": "gradient",
        "x value:float": "full_like",
        "x y": "shares_memory",
    },
    "sorting": {
        "x y": "isin set_difference set_exclusive_or set_intersection set_union",
        "x axis:axis": "argmax argmin argsort sort",
        "ordered values side:enum": "searchsorted",
        "x index:bool inverse:bool counts:bool": "unique",
        "x count:int bounds:shape edges": "histogram",
        "x k:int gives:enum axis:axis": "top_k",
        "x k:int axis:axis": "kth_smallest",
        "x axis:axis inverse:bool counts:bool": "unique_runs unique_slices",
        "x count:shape bounds:shape edges:tensors": "histogram_of_points",
        "x least:int weights": "bincount",
    },
    "shapes": {
        "tensors:tensors": (
            "atleast_1d atleast_2d atleast_3d block_diagonal broadcast_together column_stack "
            "dstack hstack vstack"
        ),
        "tensors:tensors indexing:enum": "meshgrid",
        "tensors:tensors value:float": "pad_sequences",
        "x length:int repeated:bool": "combinations",
        "x": "diag_indices_from diagflat flatten shape size",
        "x offset:int": "diag tril triu",
        "data block:int": "depth_to_space pixel_shuffle pixel_unshuffle space_to_depth",
        "data groups:int": "channel_shuffle",
        "tensors:tensors axis:axis": "concatenate stack",
        "x axes:axes": "indices_of_elements transpose",
        "x axis:axes": "flip squeeze",
        "x axis:axis": "arange_like expand_dims unstack",
        "x like": "broadcast_like reshape_like",
        "x shape:shape": "broadcast reshape",
        "data offset:shape size:shape": "crop",
        "x axis1:axis axis2:axis": "swapaxes",
        "x axis:axes extents:shape": "broadcast_axes",
        "x axis:axis parts:int starts:shape": "split",
        "x axis start:int": "rollaxis",
        "x axis:axis size:int step:int": "sliding_windows",
        "x dtype:dtype": "bitcast cast",
        "x offset:int axis1:axis axis2:axis": "diagonal diagonal_embedding",
        "x shift:shape axis:axes": "roll",
        "x source:axes destination:axes": "moveaxis",
        "x times:int axes:axes": "rot90",
        "x times:int axis:axis": "repeat",
        "x times:shape": "tile",
        "gradient shape:shape widths:shape mode:enum": "pad_gradient",
        "x shape:shape strides:shape offset:int": "as_strided",
        "x widths:shape mode:enum": "pad",
    },
    "normalisation": {
        "data axis:axis temperature:float": "log_softmax softmin",
        "data axis:axis temperature:float lengths": "softmax",
        "data scale shift epsilon:float": "batch_norm_relu instance_norm",
        "data mean variance scale shift axis:axis epsilon:float": "batch_norm_inference",
        "data mean variance scale shift epsilon:float": "batch_norm_relu_inference",
        "data mask axis": "masked_log_softmax masked_softmax",
        "data alpha:float beta:float offset:float channels:int": "local_response_norm",
        "data axes:axes epsilon:float": "unit_length",
        "data scale epsilon:float": "rms_norm",
        "data order:float axis:axis limit:float": "renorm",
        "data indices order:float limit:float": "renorm_of_rows",
        "x y axis:axis epsilon:float": "cosine_similarity",
        "data scale shift axis:axis epsilon:float": "batch_norm layer_norm",
        "data scale shift groups:int epsilon:float": "group_norm",
    },
    "indexing": {
        "data indices values": "index_add index_copy index_update put put_along_last",
        "data indices": "gather take_along_last",
        "data indices:tensors": "advanced_indexing",
        "data indices:tensors values accumulate:bool": "advanced_assignment",
        "data indices values axis:axis reduction:enum include_data:bool": "scatter_elements",
        "data indices axis:axis": "pick take",
        "x": "flat_nonzero nonzero",
        "choices:tensors indices": "choose",
        "condition x y": "where",
        "data axis:axis begin:int end:int": "slice_axis",
        "data begin:shape end:shape step:shape": "slice",
        "data columns values": "scatter_rows",
        "data indices shape:shape": "scatter",
        "data like axes:axes": "slice_like",
        "data mask": "boolean_mask",
        "data mask values": "masked_fill place",
        "data rows": "retain_rows",
        "data value:int": "fill_diagonal",
        "data values begin:shape end:shape step:shape": "slice_assign",
        "data weight": "embedding",
        "data where axis:axis": "delete",
        "data where values axis:axis": "insert",
        "flat shape:shape": "unravel_index",
        "indices depth:int": "one_hot",
        "indices:tensors shape:shape": "ravel_multi_index",
    },
    "images": {
        "data output_size:shape align_corners:bool": "upsample_cubic upsample_linear",
        "data output_size:shape": "upsample_nearest",
        "gradient input_size:shape align_corners:bool": (
            "upsample_cubic_gradient upsample_linear_gradient"
        ),
        "gradient input_size:shape": "upsample_nearest_gradient",
        "theta extents:shape align:bool": "affine_grid",
        "data grid kind:enum padding:enum align:bool": "grid_sample",
    },
    "layers": {
        "data lengths": "sequence_last sequence_mask sequence_reverse",
        "x": "gelu gelu_tanh hard_sigmoid hard_swish hard_tanh relu6 selu silu",
        "data rate:float axes:axes": "alpha_dropout dropout",
        "data rate:float": "dropout_inference",
        "data weight bias": "dense",
        "data weight offsets kind:enum shares padding:int has_end:bool": "embedding_bag",
        "x slope:float": "celu elu",
        "x axis:axis": "glu",
        "x threshold:float": "hard_shrink soft_shrink",
        "x slope": "leaky_relu",
        "data weights:tensors biases:tensors state bidirectional:bool cell lengths states:bool": (
            "gru lstm rnn_relu rnn_tanh"
        ),
    },
    "sampling": {
        "loc:float scale:float": "random_gumbel random_laplace random_logistic random_normal",
        "a:float": "random_pareto random_power random_weibull",
        "df:float": "random_chi_square random_student_t",
        "p:float": "random_geometric random_log_series",
        "sample is_log:bool rate": "exponential_density poisson_density",
        "scale:float": "random_exponential random_rayleigh",
        "": "random_cauchy",
        "a:float b:float": "random_beta",
        "data": "shuffle",
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
        "n:int probabilities size:shape": "random_multinomial",
        "population:int size:shape replace:bool weights": "random_choice",
        "probabilities": "random_categorical",
        "probabilities count:int": "random_distinct_categories",
        "rate:float": "random_poisson",
        "sample is_log:bool alpha": "dirichlet_density",
        "sample is_log:bool failures p": "negative_binomial_density",
        "sample is_log:bool loc scale": "normal_density",
        "sample is_log:bool low high": "uniform_density",
        "sample is_log:bool mu alpha": "generalized_negative_binomial_density",
        "sample is_log:bool shape rate": "gamma_density",
        "shape:float scale:float": "random_gamma",
    },
    "losses": {
        "data label": "ctc_loss softmax_cross_entropy",
        "x y reduction:enum": "absolute_error_loss soft_margin_loss squared_error_loss",
        "x y reduction:enum delta:float": "huber_loss",
        "x y reduction:enum beta:float": "smooth_l1_loss",
        "x y reduction:enum margin:float": "hinge_embedding_loss",
        "x y reduction:enum weight": "binary_cross_entropy",
        "x y reduction:enum weight positive_weight": "binary_cross_entropy_of_logits",
        "x y reduction:enum is_log:bool": "kl_divergence",
        "x y reduction:enum is_log:bool full:bool epsilon:float": "poisson_loss",
        "x y order reduction:enum margin:float": "margin_ranking_loss",
        "x y sign reduction:enum margin:float": "cosine_embedding_loss",
        (
            "anchor positive negative reduction:enum margin:float order:float epsilon:float "
            "swap:bool"
        ): "triplet_margin_loss",
        "data label reduction:enum": "multilabel_margin_loss",
        "data label reduction:enum power:float margin:float weight": "multi_margin_loss",
        "data label reduction:enum weight ignored:int": "negative_log_likelihood",
        "data label reduction:enum weight ignored:int smoothing:float": "cross_entropy",
        "log_probabilities label steps lengths reduction:enum": "ctc_loss_of_log_probabilities",
        "x sigma:float": "smooth_l1",
    },
    "special": {
        "x axes:axes": (
            "fourier_transform inverse_fourier_transform inverse_hermitian_fourier_transform "
            "real_fourier_transform cosine_transform inverse_cosine_transform"
        ),
        # The length is that of the result along the last of the axes.
        "x axes:axes length:int": "hermitian_fourier_transform inverse_real_fourier_transform",
        "x window hop:int centred:bool": "short_time_fourier_transform",
        "x window hop:int": "inverse_short_time_fourier_transform",
        "x": (
            "airy_ai bessel_j0 bessel_j1 bessel_k0 bessel_k1 bessel_y0 bessel_y1 dawsn "
            "entropy_term erfc erfcinv erfcx exp1 expi factorial fresnel gammasgn i0e i1 i1e "
            "log_ndtr logit ndtr ndtri scaled_bessel_k0 scaled_bessel_k1 sici spence "
            "spherical_bessel_j0"
        ),
        "z": "wofz",
        "x order:int": "bessel_j_up_to multigammaln polygamma",
        "x y": (
            "beta_function betaln boxcox boxcox1p comb kl_divergence_term owens_t poch "
            "relative_entropy_term xlog1py xlogy"
        ),
        "order x": "expn",
        "a b x": "betainc hyp1f1",
        "a b c x": "hyp2f1",
        "degree order theta phi": "spherical_harmonic",
        "last:int": "bernoulli_numbers",
        "a x": "gamma_sample_derivative gammainc gammainc_derivative gammaincc",
        "x q": "zeta",
        "x degree": (
            "chebyshev_t chebyshev_u chebyshev_v chebyshev_w hermite hermite_probabilists laguerre "
            "legendre shifted_chebyshev_t shifted_chebyshev_u shifted_chebyshev_v "
            "shifted_chebyshev_w"
        ),
    },
    "distributions": distributions.TABLE,
    **linear_algebra.TABLE,
}

ALL: tuple[CanonicalOperation, ...] = tuple(
    operation for module, table in TABLE.items() for operation in operations(module, table)
)
