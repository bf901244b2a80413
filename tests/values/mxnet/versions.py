"""Exceptions in the comparison of MXNet's operators: the versions that have them, results that are
one number everywhere, and why some are not compared."""

from __future__ import annotations

CONSTANT = frozenset(
    {
        *("_full", "_npi_full", "_npi_full_like", "_npi_ones", "_npi_zeros", "_ones"),
        *("_set_value", "_zeros", "ones_like", "reset_arrays", "zeros_like"),
        # One configuration is of a square.
        "shape_array",
        # Matrices whose inverse is sought are of full rank.
        *("_npi_matrix_rank", "_npi_matrix_rank_none_tol"),
        # No tensor of a benchmark has the values that these look for.
        *("_npi_isfinite", "_npi_isinf", "_npi_isnan", "_npi_isneginf", "_npi_isposinf"),
    }
)
"""Operators whose results are one number everywhere."""

FIRST_ONLY = frozenset(
    {
        *("Convolution_v1", "Pooling_v1", "_contrib_SparseEmbedding", "_np_all", "_np_any"),
        *("_np_atleast_1d", "_np_atleast_2d", "_np_atleast_3d", "_np_copy", "_np_diag"),
        *("_np_diagflat", "_np_diagonal", "_np_dot", "_np_max", "_np_min", "_np_moveaxis"),
        *("_np_prod", "_np_roll", "_np_squeeze", "_np_sum", "_np_trace", "_np_transpose"),
        *("_scatter_elemwise_div", "_scatter_minus_scalar", "_scatter_plus_scalar"),
    }
)
"""Operators that MXNet 2 no longer has under these names."""

SECOND_ONLY = frozenset(
    {
        *("_contrib_dynamic_reshape", "_npi_advanced_indexing", "_npi_advanced_indexing_multiple"),
        *("_npi_all", "_npi_any", "_npi_atleast_1d", "_npi_atleast_2d", "_npi_atleast_3d"),
        *("_npi_bitwise_left_shift", "_npi_bitwise_left_shift_scalar", "_npi_bitwise_right_shift"),
        *("_npi_bitwise_right_shift_scalar", "_npi_copy", "_npi_cross", "_npi_diag"),
        *("_npi_diagflat", "_npi_diagonal", "_npi_dot", "_npi_fill_diagonal", "_npi_floor_divide"),
        *("_npi_floor_divide_scalar", "_npi_fmax", "_npi_fmax_scalar", "_npi_fmin"),
        *("_npi_fmin_scalar", "_npi_fmod", "_npi_fmod_scalar", "_npi_gcd", "_npi_gcd_scalar"),
        *("_npi_interp", "_npi_kron", "_npi_laplace", "_npi_logaddexp", "_npi_logaddexp_scalar"),
        *("_npi_logical_and", "_npi_logical_and_scalar", "_npi_logical_or"),
        *("_npi_logical_or_scalar", "_npi_logical_xor", "_npi_logical_xor_scalar", "_npi_lstsq"),
        *("_npi_matrix_rank", "_npi_matrix_rank_none_tol"),
        *("_npi_max", "_npi_min", "_npi_moveaxis", "_npi_prod", "_npi_qr"),
        *("_npi_rbitwise_left_shift_scalar", "_npi_rbitwise_right_shift_scalar", "_npi_repeats"),
        *("_npi_rfloor_divide_scalar", "_npi_rfmod_scalar", "_npi_roll", "_npi_rollaxis"),
        *("_npi_squeeze", "_npi_sum", "_npi_trace", "_npi_transpose", "_npi_tri"),
        *("_npi_tril_indices", "_npi_triu", "_npx_index_add", "_npx_index_update", "digamma"),
        *("log_sigmoid", "masked_log_softmax", "masked_softmax", "mish", "random_binomial"),
        *("sample_binomial", "sample_categorical"),
    }
)
"""Operators that came with MXNet 2, or with their names in it."""

UNCOMPARED = {
    "boxes and regions, whose steps no library of arrays has": frozenset(
        {
            *("_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget"),
            *("_contrib_MultiProposal", "_contrib_Proposal", "_contrib_bipartite_matching"),
            *("_contrib_box_decode", "_contrib_box_encode", "_contrib_box_iou"),
            *("_contrib_box_nms", "_contrib_PSROIPooling", "_contrib_DeformablePSROIPooling"),
            *("_contrib_ROIAlign", "_contrib_RROIAlign", "ROIPooling"),
        }
    ),
    "resampling of images, whose corners each library places otherwise": frozenset(
        {
            *("BilinearSampler", "GridGenerator", "SpatialTransformer", "UpSampling"),
            *("_contrib_BilinearResize2D", "_contrib_DeformableConvolution"),
            *("_contrib_ModulatedDeformableConvolution", "_npx_deformable_convolution"),
            *("_npx_modulated_deformable_convolution", "_cvimresize", "_image_resize"),
            "_image_random_resized_crop",
        }
    ),
    "images: files, colours, and what is done to them at random": frozenset(
        {
            *("_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_image_adjust_lighting"),
            *("_image_crop", "_image_flip_left_right", "_image_flip_top_bottom"),
            *("_image_normalize", "_image_random_brightness", "_image_random_color_jitter"),
            *("_image_random_contrast", "_image_random_crop", "_image_random_flip_left_right"),
            *("_image_random_flip_top_bottom", "_image_random_hue", "_image_random_lighting"),
            *("_image_random_saturation", "_image_to_tensor"),
        }
    ),
    "calls of graphs and of Python, which compute what their caller says": frozenset(
        {
            *("Custom", "_CachedOp", "_CachedOpThreadSafe", "_CustomFunction", "_NDArray"),
            *("_Native", "_cond", "_foreach", "_while_loop", "_npx_cond", "_npx_foreach"),
            *("_npx_while_loop", "_npx_constraint_check"),
        }
    ),
    "graphs and point processes, which are seldom used": frozenset(
        {
            *("_contrib_dgl_adjacency", "_contrib_dgl_csr_neighbor_non_uniform_sample"),
            *("_contrib_dgl_csr_neighbor_uniform_sample", "_contrib_dgl_graph_compact"),
            *("_contrib_dgl_subgraph", "_contrib_edge_id", "_contrib_getnnz"),
            *("_contrib_hawkesll", "_contrib_count_sketch"),
        }
    ),
    "quantised layers, whose rounding is the library's underneath": frozenset(
        {
            *("_contrib_calibrate_entropy", "_contrib_quantize", "_contrib_quantize_asym"),
            *("_contrib_quantize_v2", "_contrib_quantized_act", "_contrib_quantized_batch_norm"),
            *("_contrib_quantized_concat", "_contrib_quantized_conv"),
            *("_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul"),
            *("_contrib_quantized_embedding", "_contrib_quantized_flatten"),
            *("_contrib_quantized_fully_connected", "_contrib_quantized_pooling"),
            *("_contrib_quantized_rnn", "_contrib_intgemm_fully_connected"),
            *("_contrib_intgemm_maxabsolute", "_contrib_intgemm_prepare_data"),
            *("_contrib_intgemm_prepare_weight", "_contrib_intgemm_take_weight"),
            *("_npx_quantized_reshape", "_npx_quantized_transpose", "quantized_reshape"),
            "quantized_transpose",
        }
    ),
    "subgraphs of oneDNN, which are made of operators that are compared": frozenset(
        {
            *("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected", "_sg_mkldnn_selfatt_qk"),
            *("_sg_mkldnn_selfatt_valatt", "_sg_onednn_batch_dot", "_sg_onednn_conv"),
            *("_sg_onednn_fully_connected", "_sg_onednn_selfatt_qk"),
            "_sg_onednn_selfatt_valatt",
        }
    ),
    "no reference has been written yet": frozenset(
        {
            *("BatchNorm_v1", "Correlation", "IdentityAttachKLSparseReg"),
            *("_adabelief_update", "_mp_adabelief_update", "_multi_adabelief_update"),
            *("_multi_lans_update", "_multi_mp_adabelief_update", "_multi_mp_lamb_update"),
            *("_multi_mp_lans_update", "_contrib_fft", "_contrib_ifft"),
            *("_contrib_sldwin_atten_context", "_contrib_sldwin_atten_mask_like"),
            *("_contrib_sldwin_atten_score", "_npi_norm"),
            *("_zeros_without_dtype", "amp_multicast", "sample_multinomial"),
        }
    ),
}
"""Operators that are run and not compared, by the reason."""
