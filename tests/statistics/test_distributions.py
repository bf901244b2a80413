"""Probabilities and quantiles, against SciPy's statistics, which take longer to import."""

import subprocess
import sys

import numpy as np
from scipy import stats

from opperf.statistics.distributions import (
    binomial_at_most,
    chi_squared_above,
    f_above,
    f_quantile,
    normal_exceeded,
    t_above,
    t_below,
    t_exceeded,
)
from opperf.statistics.false_discovery import reject
from opperf.statistics.moderation import _ranks

FREEDOM = np.array([np.nan, 0.0, 0.1, 1.0, 2.5, 11.0, 400.0, np.inf])
VALUES = np.array([-np.inf, -300.0, -40.0, -2.0, 0.0, 1e-9, 0.7, 5.0, 90.0, np.inf, np.nan])
LEVELS = np.array([0.0, 1e-12, 1e-4, 0.025, 0.5, 0.8, 1.0, np.nan])


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def test_students_t_is_scipys():
    value, freedom = np.meshgrid(VALUES, FREEDOM)
    check(t_above(value, freedom), stats.t.sf(value, freedom))
    check(t_below(value, freedom), stats.t.cdf(value, freedom))
    level, freedom = np.meshgrid(LEVELS, FREEDOM)
    check(t_exceeded(level, freedom), stats.t.isf(level, freedom))
    check(t_exceeded(0.05, FREEDOM), stats.t.isf(0.05, FREEDOM))


def test_f_is_scipys():
    ratio, freedom = np.meshgrid(np.array([0.0, 1e-6, 0.5, 1.0, 30.0, 1e9]), FREEDOM[2:-1])
    check(f_above(ratio, freedom, 4.0), stats.f.sf(ratio, freedom, 4.0))
    for over, under in ((2.0, 0.1), (3.0, 20.0), (0.5, 7.25)):
        shares = (np.arange(400) + 0.5) / 400
        check(f_quantile(shares, over, under), stats.f.ppf(shares, over, under))


def test_chi_squared_binomial_and_normal_are_scipys():
    for value, freedom in ((0.0, 2), (3.5, 4), (80.0, 10), (700.0, 400)):
        check(chi_squared_above(value, freedom), stats.chi2.sf(value, freedom))
    for n in (6, 7, 30, 1000, 20_000):
        for count in (0, n // 3, n // 2 - 1, n - 1):
            check(binomial_at_most(count, n, 0.5), stats.binom.cdf(count, n, 0.5))
    for level in (1e-9, 0.025, 0.2, 0.5, 0.9):
        check(normal_exceeded(level), stats.norm.isf(level))


def test_ranks_and_the_false_discovery_rate_are_scipys():
    drawn = np.random.default_rng(3)
    for size in (1, 2, 7, 200):
        p = np.round(drawn.random(size) ** 3, 2)
        check(_ranks(p), stats.rankdata(p))
        for q in (0.01, 0.05, 0.3):
            assert reject(p, q).tolist() == (stats.false_discovery_control(p) <= q).tolist()


VERDICTS = """
import sys

import numpy as np

from opperf.statistics.data import Replicate, Thresholds
from opperf.statistics.order_statistics import compare_samples
from opperf.statistics.verdicts import analyse

drawn = np.random.default_rng(0)
replicates = [
    Replicate(phase, block, position, arm, {str(case): drawn.normal() for case in range(9)})
    for phase, blocks in (("control", 4), ("comparison", 8))
    for block in range(blocks)
    for position, arm in enumerate("ABBA")
]
assert analyse(replicates, Thresholds()).looks
compare_samples("case", [1.0, 2.0, 3.0] * 9, [2.0, 3.0, 4.0] * 9, 0.02)
print("scipy.special" in sys.modules, "scipy.stats" in sys.modules)
"""


def test_verdicts_do_not_import_scipys_statistics():
    done = subprocess.run([sys.executable, "-c", VERDICTS], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"], done.stderr
