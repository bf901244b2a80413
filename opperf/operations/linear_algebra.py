"""The canonical operations of matrices and of vectors, as `table` has the others."""

from __future__ import annotations

from opperf.operations.canonical import CanonicalOperation, operations

ALL: tuple[CanonicalOperation, ...] = (
    *operations(
        "factorisations",
        {
            "x:tensor": (
                "cholesky determinant eigenvalues eigenvalues_of_symmetric eigenvectors "
                "eigenvectors_in_rows eigenvectors_of_symmetric inverse inverse_from_cholesky lq "
                "nuclear_norm qr sign_and_log_determinant singular_values svd"
            ),
            "x:tensor right_hand_side:tensor": "solve tensor_solve",
            "x:tensor cutoff:tensor": "pseudo_inverse",
            "x:tensor least:tensor": "matrix_rank",
            "x:tensor right_hand_side:tensor cutoff:float": "least_squares",
            "x:tensor split:int": "tensor_inverse",
        },
    ),
    *operations(
        "matrices",
        {
            "x:tensor": (
                "correlation_coefficients covariance diagonal_matrix diagonal_of_matrix "
                "matrix_times_own_transpose pack_triangle sum_of_log_diagonal unpack_triangle"
            ),
            "x:tensor y:tensor": (
                "cross_product dot inner_product kronecker_product outer_product vector_dot"
            ),
            "matrices:tensors": "khatri_rao_product matrix_product_chain",
            "x:tensor triangle:tensor right:bool": "triangular_product",
            (
                "x:tensor triangle:tensor right:bool upper:bool transpose:bool unit:bool"
            ): "triangular_solution",
            "addend:tensor x:tensor y:tensor scale:float addend_scale:float": (
                "sampled_matrix_product scaled_matrix_product scaled_outer_product "
                "scaled_sum_of_products"
            ),
            "x:tensor y:tensor axis:axis": "vector_products",
            "x:tensor y:tensor mode:enum": "convolve correlate",
            "keys_values:tensor attention:tensor heads:int": "cross_attention_context",
            "queries:tensor keys_values:tensor heads:int": "cross_attention_scores",
            "queries_keys_values:tensor attention:tensor heads:int": "self_attention_context",
            "queries_keys_values:tensor heads:int": "self_attention_scores",
            "tensors:tensors subscripts:enum": "einsum",
            "x:tensor exponent:int": "matrix_power",
            "x:tensor y:tensor axes:axes": "tensordot",
            "x:tensor y:tensor transpose_x:bool transpose_y:bool addend:tensor": "matrix_product",
        },
    ),
    *operations(
        "distances",
        {
            "x:tensor order:float axis:axes keepdims:bool": "sum_of_powers vector_norm",
            "x:tensor norm:enum": "condition_number",
            "x:tensor norm:enum keepdims:bool": "matrix_norm",
            "x:tensor y:tensor order:float": "distance pairwise_distances",
            "x:tensor y:tensor order:float epsilon:float keepdims:bool": "distance_of_rows",
            "x:tensor order:float": "distances_among",
        },
    ),
    *operations(
        "factors",
        {
            "x:tensor": (
                "ldl_packed log_determinant lu matrix_exponential qr_packed svd_in_columns"
            ),
            "x:tensor first:int": "lu_packed",
            "packed:tensor pivots:tensor": "unpack_lu",
            "packed:tensor pivots:tensor right_hand_side:tensor left:bool adjoint:bool": (
                "solution_from_lu"
            ),
            "packed:tensor pivots:tensor right_hand_side:tensor": "solution_from_ldl",
            "x:tensor right_hand_side:tensor": "solution_from_cholesky",
            "packed:tensor scales:tensor": "householder_product",
            (
                "packed:tensor scales:tensor other:tensor left:bool transpose:bool"
            ): "householder_times",
        },
    ),
)
