"""Findings of MXNet's cases that are no faults."""

from tests.conformance.exceptions import Exempt, given
from tests.conformance.judging import CONSTANT, CONSTANT_INPUT, INTEGERS, NOT_FINITE, ZERO_GRADIENT
from tests.conformance.reasons import (
    BY_CHANCE,
    CREATION,
    DISCRETE,
    EQUAL,
    FACTOR,
    FIRST,
    OVERFLOW,
    SIGN,
    SIGNS,
    UNWRITTEN,
)

TABLE = (
    Exempt(
        CONSTANT,
        CREATION,
        "_full _npi_full_like _npi_ones _npi_zeros _ones _set_value _zeros _zeros_without_dtype "
        "ones_like reset_arrays zeros_like",
    ),
    Exempt(CONSTANT, SIGN, "linalg_slogdet", place="output[[]0]"),
    Exempt(
        CONSTANT,
        "only training writes the slopes: " + UNWRITTEN,
        "LeakyReLU",
        place="output[[]1]",
        given=given(act_type="rrelu"),
        sometimes=True,
    ),
    Exempt(CONSTANT_INPUT, EQUAL, "_contrib_allclose"),
    Exempt(INTEGERS, BY_CHANCE, "_np_all _np_any", sometimes=True),
    Exempt(CONSTANT_INPUT, FIRST, "_foreach _while_loop", place="data[[]1]"),
    Exempt(CONSTANT_INPUT, "means of squares and of gradients", "rmspropalex_update"),
    Exempt(
        CONSTANT_INPUT,
        FIRST,
        "_multi_adamw_update _multi_lamb_update _multi_mp_adamw_update _multi_mp_lamb_update "
        "multi_mp_sgd_mom_update multi_sgd_mom_update preloaded_multi_mp_sgd_mom_update "
        "preloaded_multi_sgd_mom_update",
        place="data*",
    ),
    Exempt(
        CONSTANT_INPUT,
        "a rate for all parameters, as schedules have it",
        "preloaded_multi_mp_sgd_update preloaded_multi_sgd_update",
        place="data*",
    ),
    Exempt(
        CONSTANT_INPUT,
        "only its shape matters",
        "_random_exponential_like _random_gamma_like _random_generalized_negative_binomial_like "
        "_random_negative_binomial_like _random_normal_like _random_poisson_like "
        "_random_uniform_like",
        place="data",
    ),
    Exempt(CONSTANT_INPUT, FACTOR, "_contrib_box_encode", place="means"),
    Exempt(CONSTANT_INPUT, "a bound, of each matrix", "_npi_pinv", place="rcond"),
    Exempt(
        CONSTANT_INPUT,
        "sequences that were observed for as long",
        "_contrib_hawkesll",
        place="[mv]a*",
    ),
    Exempt(INTEGERS, "it raises an error unless all is true", "_npx_constraint_check"),
    Exempt(INTEGERS, "an array to write to, which has nothing yet", "random_randint", place="out"),
    Exempt(
        ZERO_GRADIENT,
        "the scale is held at one",
        "BatchNorm BatchNorm_v1 _contrib_SyncBatchNorm",
        place="gradient of gamma",
        given=given(fix_gamma=True),
    ),
    Exempt(
        ZERO_GRADIENT,
        "the branch that is taken skips the step",
        "_cond",
        place="gradient of data.0",
    ),
    Exempt(
        ZERO_GRADIENT,
        "only its shape matters",
        "_contrib_BilinearResize2D",
        place="gradient of like",
    ),
    Exempt(
        ZERO_GRADIENT,
        "MXNet computes no derivative by the first state",
        "_contrib_hawkesll",
        place="gradient of state",
    ),
    Exempt(ZERO_GRADIENT, SIGNS, "_npi_copysign", place="gradient of rhs"),
    Exempt(
        ZERO_GRADIENT,
        DISCRETE,
        "random_pdf_generalized_negative_binomial random_pdf_negative_binomial "
        "random_pdf_poisson random_pdf_uniform",
        place="gradient of sample",
    ),
)

BY_DTYPE = {"float16": (Exempt(NOT_FINITE, OVERFLOW, "random_pdf_dirichlet"),)}

FINITE_AT_TIMES = (
    "LeakyReLU _contrib_dgl_csr_neighbor_non_uniform_sample _npi_gumbel _npi_logistic "
    "_random_exponential_like random_exponential sample_exponential"
)
"""Operators that may return NaN or infinity, and do so by chance: memory that is not written, and
one random number of millions."""
