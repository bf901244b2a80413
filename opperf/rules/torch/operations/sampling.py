"""PyTorch's operators that draw random numbers."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Choice, Table, Use, use

DRAWN = "-size -dtype -generator -device -memory_format"
"""Arguments that do not affect the distribution, in the text of a use."""


def like(operation: str, roles: str = "", **constants: Any) -> Use:
    """The use of a distribution, of whose tensor only the shape counts."""
    return use(f"random_{operation}", f"{roles} -self {DRAWN}", **constants)


def exponential_roles(lambd: float = 1.0, **other: Any) -> dict[str, Any]:
    """The scale, one over the rate."""
    assert other.keys() <= {"self"}
    return {"scale": 1 / lambd}


def cauchy_roles(**arguments: Any) -> dict[str, Any]:
    """Nothing: the standard distribution is drawn."""
    assert arguments.keys() <= {"self"}
    return {}


EXACT = 2**24
"""The largest of the whole numbers that single precision has all of, which `random` draws up to."""


def random_roles(to: int = EXACT + 1, **other: Any) -> dict[str, Any]:
    """Both ends of the whole numbers to draw."""
    return {"low": other.get("from", 0), "high": to}


def randint_like_roles(high: Any, low: int = 0, **other: Any) -> dict[str, Any]:
    """Both ends of the whole numbers to draw."""
    return {"low": low, "high": int(high)}


def permutation_roles(n: int, **other: Any) -> dict[str, Any]:
    """The numbers to shuffle."""
    import numpy as np

    return {"data": np.arange(n)}


def normal_roles(mean: float, std: float = 1.0, **other: Any) -> dict[str, Any]:
    """The mean and the standard deviation, one or one of each number."""
    return {"loc": mean, "scale": std}


NORMAL = like("normal", loc=0.0, scale=1.0)
UNIT = like("uniform", low=0.0, high=1.0)

TABLE: Table = {
    "bernoulli": use("random_binomial", "p=self -generator", n=1),
    "bernoulli.Tensor": like("binomial", "p", n=1),
    "bernoulli.p": like("binomial", "p", n=1),
    "binomial": use("random_binomial", "n=count p=prob -generator"),
    "cauchy": use("random_cauchy", cauchy_roles),
    "exponential": use("random_exponential", exponential_roles),
    "geometric": like("geometric", "p"),
    "log_normal": like("log_normal", "mean sigma=std"),
    "multinomial": Choice(
        "replacement",
        {
            None: use("random_distinct_categories", "probabilities=self count=num_samples"),
            True: use("random_categorical", "probabilities=self -num_samples -replacement"),
        },
    ),
    "normal": use("random_normal", normal_roles),
    "normal_functional": like("normal", "loc=mean scale=std"),
    "poisson": use("random_poisson", "rate=self -generator"),
    "rand": UNIT,
    "rand_like": UNIT,
    "randint": like("uniform_integer", "low high", low=0),
    "randint.low": like("uniform_integer", "low high"),
    "randint.low_generator": like("uniform_integer", "low high"),
    "randint_like": use("random_uniform_integer", randint_like_roles),
    "randn": NORMAL,
    "randn_like": NORMAL,
    "random": use("random_uniform_integer", random_roles),
    "randperm": use("shuffle", permutation_roles),
    "uniform": like("uniform", "low=from high=to"),
}
