"""The names of NumPy that opperf uses and that are no public API."""

from __future__ import annotations

from opperf.frameworks.installed import PrivateName

CPU_FEATURES = PrivateName(
    "the processor's instruction sets among the build's features",
    "numpy._core._multiarray_umath:__cpu_features__",
    # Below 2.
    "numpy.core._multiarray_umath:__cpu_features__",
)
