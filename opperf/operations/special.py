"""The canonical operations that are special functions, as `table` has the others."""

from __future__ import annotations

from opperf.operations.canonical import CanonicalOperation, operations

ALL: tuple[CanonicalOperation, ...] = (
    *operations(
        "special",
        {
            "x:tensor": (
                "airy_ai bessel_j0 bessel_j1 bessel_k0 bessel_k1 bessel_y0 bessel_y1 entropy_term "
                "erfc erfcx exp1 expi factorial fresnel gammasgn i0e i1 i1e log_ndtr logit ndtr "
                "ndtri scaled_bessel_k0 scaled_bessel_k1 spence spherical_bessel_j0"
            ),
            "x:tensor order:int": "bessel_j_up_to multigammaln polygamma",
            "x:tensor y:tensor": (
                "beta_function betaln kl_divergence_term poch relative_entropy_term xlog1py xlogy"
            ),
            "order:tensor x:tensor": "expn",
            "a:tensor b:tensor x:tensor": "betainc hyp1f1",
            "a:tensor b:tensor c:tensor x:tensor": "hyp2f1",
            "degree:tensor order:tensor theta:tensor phi:tensor": "spherical_harmonic",
            "last:int": "bernoulli_numbers",
            "a:tensor x:tensor": "gamma_sample_derivative gammainc gammainc_derivative gammaincc",
            "x:tensor q:tensor": "zeta",
            "x:tensor degree:tensor": (
                "chebyshev_t chebyshev_u chebyshev_v chebyshev_w hermite hermite_probabilists "
                "laguerre legendre shifted_chebyshev_t shifted_chebyshev_u shifted_chebyshev_v "
                "shifted_chebyshev_w"
            ),
        },
    ),
)
