"""The category of each MXNet operator, as an ordered table of rules over the registry."""

from __future__ import annotations

import re
from collections.abc import Callable

from opperf.model import Kind, Operator

Rule = Callable[[Operator], bool]

PREFIX = re.compile(r"^_(npx__image|npx|npi|np|contrib|linalg|random|sample|image|sparse)_")


def named(names: str) -> Rule:
    """Operators of which any name, namespace prefix aside, is one of these words."""
    wanted = frozenset(names.split())
    return lambda operator: not wanted.isdisjoint(PREFIX.sub("", name) for name in operator.names)


def matching(pattern: str) -> Rule:
    """Operators of which any full name matches the regular expression."""
    compiled = re.compile(pattern)
    return lambda operator: any(compiled.search(name) for name in operator.names)


def namespace(*names: str) -> Rule:
    """Operators of one of these namespaces."""
    return lambda operator: operator.namespace in names


def tensors(*names: str) -> Rule:
    """Operators whose tensor parameters are exactly these."""
    return lambda operator: tuple(p.name for p in operator.tensors) == names


def parameters(*names: str) -> Rule:
    """Operators that have all of these parameters."""
    return lambda operator: all(operator.parameter(name) for name in names)


def only_tensors(count: int) -> Rule:
    """Operators with that many tensors and no other parameter."""
    return lambda operator: (
        len(operator.parameters) == len(operator.tensors) == count
        and all(p.kind is Kind.TENSOR for p in operator.tensors)
    )


def every(*rules: Rule) -> Rule:
    """All of the rules hold."""
    return lambda operator: all(rule(operator) for rule in rules)


def either(*rules: Rule) -> Rule:
    """Any of the rules holds."""
    return lambda operator: any(rule(operator) for rule in rules)


def one_tensor(operator: Operator) -> bool:
    """Operators of a single tensor, whatever else they take."""
    return len(operator.tensors) == 1 and operator.tensors[0].kind is Kind.TENSOR


DISTRIBUTIONS = (
    "bernoulli choice exponential gamma gumbel laplace logistic multinomial normal normal_n pareto "
    "powerd rayleigh shuffle uniform uniform_n weibull"
)
"""Distributions of `np.random`, which the registry does not mark as random."""

RULES: tuple[tuple[str, Rule], ...] = (
    ("optimizer", matching(r"_update(_phase[12])?$|multi_lars$")),
    ("quantization", matching(r"quantize|calibrate_entropy|intgemm")),
    ("image", either(namespace("image"), matching(r"_cv|imdecode|npx__image"))),
    (
        "random_sampling",
        either(
            every(namespace("random"), matching(r"random|sample")),
            every(namespace("np", "npx"), named(DISTRIBUTIONS)),
            named("shuffle unique_zipfian"),
        ),
    ),
    (
        "linalg",
        either(
            namespace("linalg"),
            named(
                "cholesky eig eigh eigvals eigvalsh pinv pinv_scalar_rcond qr solve svd tensorinv "
                "tensorsolve lstsq matrix_rank"
            ),
        ),
    ),
    ("gemm", named("dot batch_dot khatri_rao matmul einsum tensordot tensordot_int_axes kron")),
    ("detection", matching(r"(?i)multibox|box_|_boxes|proposal|bipartite|nms")),
    ("attention", matching(r"interleaved_matmul|selfatt|div_sqrt_dim|sldwin|masked_")),
    ("graph", matching(r"_dgl_|edge_id|getnnz")),
    ("transpose_convolution", named("Deconvolution deconvolution")),
    ("convolution", matching(r"(?i)(^|[^n])convolution(_v1)?$|sg_.*conv")),
    # Of windows, and of regions.
    ("pooling", matching(r"(?i)pooling(2d)?(_v1)?$|roialign$")),
    (
        "activation",
        named(
            "Activation LeakyReLU SoftmaxActivation hard_sigmoid log_sigmoid log_softmax mish relu "
            "sigmoid softmax softmin softsign"
        ),
    ),
    (
        "loss",
        either(
            matching(r"RegressionOutput$"),
            named(
                "CTCLoss IdentityAttachKLSparseReg MakeLoss SVMOutput SoftmaxOutput hawkesll "
                "make_loss smooth_l1 softmax_cross_entropy"
            ),
        ),
    ),
    (
        "nn_basic",
        either(
            matching(r"(?i)BatchNorm|sg_.*fully_connected"),
            named(
                "Correlation Dropout Embedding FullyConnected GroupNorm InstanceNorm "
                "L2Normalization LRN LayerNorm RNN SequenceLast SequenceMask SequenceReverse "
                "SparseEmbedding SpatialTransformer BilinearSampler GridGenerator UpSampling "
                "BilinearResize2D col2im im2col"
            ),
        ),
    ),
    (
        "creation",
        either(
            # `identity` of no prefix copies a tensor.
            matching(r"^_npi_identity$"),
            named(
                "_arange _eye _full _linspace _ones _set_value _zeros _zeros_without_dtype arange "
                "arange_like blackman eye full full_like hamming hanning indices linspace logspace "
                "ones ones_like reset_arrays tri zeros zeros_like"
            ),
        ),
    ),
    ("cumulative", named("cumprod cumsum diff ediff1d")),
    ("conversion", named("Cast amp_cast amp_multicast cast_storage")),
    ("control_flow", matching(r"CachedOp|^_(npx_)?(cond|foreach|while_loop)$")),
    ("statistics", named("histogram bincount interp")),
    ("polynomial", named("polyval")),
    ("binary_broadcast", every(matching(r"^broadcast_"), only_tensors(2))),
    ("binary_elementwise", matching(r"^elemwise_")),
    ("sorting_searching", named("argmax argmax_channel argmin argsort sort topk unique")),
    ("rounding", named("around ceil fix floor rint round trunc")),
    (
        "join_split",
        named(
            "Concat SliceChannel column_stack concatenate dsplit dstack hsplit hstack "
            "rnn_param_concat split split_v2 _split_v2 stack vstack"
        ),
    ),
    (
        "expanding",
        named(
            "Pad broadcast_axis broadcast_like broadcast_to expand_dims pad repeat tile atleast_1d "
            "atleast_2d atleast_3d"
        ),
    ),
    (
        "rearrange",
        named(
            "SwapAxis depth_to_space flip moveaxis reverse roll rot90 rollaxis space_to_depth "
            "transpose"
        ),
    ),
    (
        "shape",
        named(
            "Flatten Reshape diag diagflat diagonal reshape shape_array size_array squeeze tril "
            "triu"
        ),
    ),
    (
        "indexing",
        either(
            named(
                "Crop batch_take boolean_mask boolean_mask_assign_scalar "
                "boolean_mask_assign_tensor delete diag_indices_from fill_element_0index gather_nd "
                "index_add index_array index_copy index_update nonzero one_hot onehot_encode "
                "_onehot_encode pick ravel_multi_index retain scatter_nd _scatter_set_nd slice "
                "slice_axis slice_like _slice_assign _slice_assign_scalar take unravel_index where "
                "where_lscalar where_rscalar where_scalar2"
            ),
            matching(r"insert_(scalar|slice|tensor)|advanced_indexing"),
        ),
    ),
    (
        "reduction",
        either(
            every(
                one_tensor, either(parameters("axis", "keepdims"), parameters("axes", "keepdims"))
            ),
            named(
                "all_finite allclose average multi_all_finite multi_sum_sq norm percentile trace"
            ),
        ),
    ),
    ("binary_scalar", matching(r"_scalar$")),
    ("unary", either(only_tensors(1), named("clip gradientmultiplier nan_to_num quadratic"))),
    ("binary_misc", either(only_tensors(2), tensors("lhs", "rhs"))),
)
"""Category and rule, the first match counts; what none matches is `misc`."""

MISC = "misc"

CATEGORIES = tuple(name for name, _ in RULES) + (MISC,)


def category_of(operator: Operator) -> str:
    """Returns the operator's category: every operator has one."""
    return next((name for name, rule in RULES if rule(operator)), MISC)
