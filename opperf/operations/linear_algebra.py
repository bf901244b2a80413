"""The canonical operations of matrices and of vectors, as `table` has the others."""

from __future__ import annotations

from collections.abc import Mapping

TABLE: Mapping[str, Mapping[str, str]] = {
    "factorisations": {
        "x": (
            "cholesky determinant eigenvalues eigenvalues_of_symmetric eigenvectors "
            "eigenvectors_in_rows eigenvectors_of_symmetric inverse inverse_from_cholesky lq "
            "nuclear_norm qr sign_and_log_determinant singular_values svd ldl_packed "
            "log_determinant lu matrix_exponential qr_packed svd_in_columns"
        ),
        "x right_hand_side": "solve tensor_solve solution_from_cholesky",
        "x cutoff": "pseudo_inverse",
        "x least": "matrix_rank",
        "x right_hand_side cutoff:float": "least_squares",
        "x split:int": "tensor_inverse",
        "x first:int": "lu_packed",
        "packed pivots": "unpack_lu",
        "packed pivots right_hand_side left:bool adjoint:bool": "solution_from_lu",
        "packed pivots right_hand_side": "solution_from_ldl",
        "packed scales": "householder_product",
        "packed scales other left:bool transpose:bool": "householder_times",
        "x order:float axis:axes keepdims:bool": "sum_of_powers vector_norm",
        "x norm:enum": "condition_number",
        "x norm:enum keepdims:bool": "matrix_norm",
        "x y order:float": "distance pairwise_distances",
        "x y order:float epsilon:float keepdims:bool": "distance_of_rows",
        "x order:float": "distances_among",
    },
    "matrices": {
        "x": (
            "correlation_coefficients covariance diagonal_matrix diagonal_of_matrix "
            "matrix_times_own_transpose pack_triangle sum_of_log_diagonal unpack_triangle"
        ),
        "x y": "cross_product dot inner_product kronecker_product outer_product vector_dot",
        "matrices:tensors": "khatri_rao_product matrix_product_chain",
        "x triangle right:bool": "triangular_product",
        "x triangle right:bool upper:bool transpose:bool unit:bool": "triangular_solution",
        "addend x y scale:float addend_scale:float": (
            "sampled_matrix_product scaled_matrix_product scaled_outer_product "
            "scaled_sum_of_products"
        ),
        "x y axis:axis": "vector_products",
        "x y mode:enum": "convolve correlate",
        "keys_values attention heads:int": "cross_attention_context",
        "queries keys_values heads:int": "cross_attention_scores",
        "queries_keys_values attention heads:int": "self_attention_context",
        "queries_keys_values heads:int": "self_attention_scores",
        "tensors:tensors subscripts:enum": "einsum",
        "x exponent:int": "matrix_power",
        "x y axes:axes": "tensordot",
        "x y transpose_x:bool transpose_y:bool addend": "matrix_product",
        "query key value mask causal:bool scale:float": "attention",
    },
}
