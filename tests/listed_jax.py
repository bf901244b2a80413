"""Tests of what the rules' tables list, which are of one version of JAX."""

import pytest

from opperf.frameworks import is_available, load

LISTED = "0.7."

is_listed = is_available("jax") and load("jax").version().startswith(LISTED)

of_the_listed_jax = pytest.mark.skipif(not is_listed, reason=f"the tables are of JAX {LISTED}*")
