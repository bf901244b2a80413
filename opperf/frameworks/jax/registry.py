"""JAX's public functions as operators, and those that are excluded, as they compute on no array."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from opperf.frameworks.jax import categories, parameters
from opperf.frameworks.paths import fold_aliases
from opperf.model import Operator

_DTYPES = "computes on dtypes, not on arrays"
_FILES = "reads or writes files"
_HELP = "documentation, text and introspection"
_SHAPE_ONLY = "reads an array's shape or type, not its elements"
_STATE = "gets or sets a configuration"
_MAPPED = "works inside a function that is mapped over several devices"
_MAKES_FUNCTION = "makes a function, not an array"
_INTERNAL = "for those who extend JAX, without arrays"

EXCLUDED: Mapping[str, str] = {
    name: why
    for why, names in {
        _DTYPES: (
            "jnp.can_cast jnp.finfo jnp.iinfo jnp.isdtype jnp.issubdtype jnp.promote_types "
            "jnp.result_type lax.dtype"
        ),
        _FILES: "jnp.fromfile jnp.load jnp.save jnp.savez",
        _HELP: (
            "jnp.array_repr jnp.array_str jnp.fromstring jnp.get_printoptions jnp.printoptions "
            "jnp.set_printoptions jnp.einsum_path"
        ),
        _SHAPE_ONLY: (
            "jnp.broadcast_shapes jnp.iscomplexobj jnp.isrealobj jnp.isscalar jnp.iterable "
            "jnp.ndim jnp.shape jnp.size lax.broadcast_shapes lax.conv_dimension_numbers "
            "lax.padtype_to_pads lax.shape_as_value lax.conv_general_permutations "
            "lax.reduce_window_shape_tuple lax.conv_general_shape_tuple lax.conv_shape_tuple "
            "lax.conv_transpose_shape_tuple"
        ),
        _STATE: "random.key_impl random.default_prng_impl random.Key random.key_dtype",
        _MAPPED: (
            "lax.axis_index lax.axis_size lax.pbroadcast lax.pcast lax.pshuffle "
            "lax.pswapaxes lax.pvary lax.ragged_all_to_all lax.all_gather_invariant "
            "lax.all_gather_reduced lax.unreduced_psum lax.unreduced_psum_scatter lax.psend "
            "lax.precv lax.psum_scatter_start"
        ),
        _MAKES_FUNCTION: (
            "jnp.frompyfunc jnp.vectorize lax.composite nn.get_scaled_dot_general_config"
        ),
    }.items()
    for name in names.split()
}
"""Functions that are no operators by name, each with the reason."""

EXCLUDED_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^lax\.(?:standard_\w+|naryop\w*|unop\w*|\w+_p)$"), _INTERNAL),
)
"""The same by a pattern of names."""


def exclusion(name: str) -> str:
    """Returns why a public function is excluded; empty if it is an operator."""
    own = EXCLUDED.get(name, "")
    return own or next((why for pattern, why in EXCLUDED_PATTERNS if pattern.search(name)), "")


FRAMEWORK = "jax"


NAMED_WORDS = 2
"""Words of a namespace: `scipy.stats` is one, and none of its distributions."""


class Place(NamedTuple):
    """A module with public functions."""

    path: str
    """Below `jax`."""
    prefix: str
    """Beginning of the names of its functions, as users write them."""

    @property
    def module(self) -> ModuleType | None:
        """None if this version has none."""
        try:
            return importlib.import_module(f"jax.{self.path}")
        except ModuleNotFoundError:
            return None

    @property
    def namespaces(self) -> tuple[str, ...]:
        """`jnp.linalg`, and `jnp`, which it is in."""
        words = self.prefix.split(".")[:NAMED_WORDS]
        return tuple(".".join(words[:count]) for count in range(len(words), 0, -1))


STATISTICS = (
    *("bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma"),
    *("gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial"),
    *("multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform"),
    *("vonmises", "wrapcauchy"),
)

PLACES = (
    Place("numpy", "jnp"),
    Place("numpy.linalg", "jnp.linalg"),
    Place("numpy.fft", "jnp.fft"),
    *(Place(name, name) for name in ("lax", "lax.linalg", "nn", "random", "image", "ops")),
    *(
        Place(f"scipy.{name}", f"scipy.{name}")
        for name in (
            *("cluster.vq", "fft", "integrate", "linalg", "ndimage", "optimize", "signal"),
            *("sparse.linalg", "special", "stats"),
            *(f"stats.{distribution}" for distribution in STATISTICS),
        )
    ),
)
"""The public namespaces. A name without a prefix is of the first one that has it."""


@functools.cache
def places() -> tuple[tuple[Place, ModuleType], ...]:
    """Returns the public namespaces that this version has, each with its module, imported."""
    return tuple((place, module) for place in PLACES if (module := place.module) is not None)


ABBREVIATED = {f"jax.{place.path}": place.prefix for place in PLACES}
"""Prefixes by module. The longest module that a path begins with counts."""

ALIAS = re.compile(r"^\s*Alias of :(?:py:)?(?:func|obj):`~?jax\.([\w.]+)`")
"""A docstring's declaration that a function is an alias: `jnp.abs` of `jnp.absolute`."""


class Found(NamedTuple):
    """A function and where it is."""

    name: str
    place: Place
    function: Callable[..., Any]


def short_name(path: str) -> str:
    """Returns the name in the registry of a dotted path: `jnp.add` of `jax.numpy.add`."""
    path = f"jax.{path}" if path.partition(".")[0] in ROOT_MODULES else path
    for module in sorted(ABBREVIATED, key=len, reverse=True):
        if path.startswith(f"{module}."):
            return f"{ABBREVIATED[module]}.{path.removeprefix(module + '.')}"
    return path


ROOT_MODULES = frozenset({"numpy"})
"""First words of modules below `jax` that no prefix begins with."""


def is_function(value: Any) -> bool:
    """Whether a value is a function: no type, no module."""
    # Parameterised types, as `jnp.ndarray | None`, can be called.
    is_type = isinstance(value, type) or typing.get_origin(value) is not None
    return callable(value) and not is_type and not isinstance(value, ModuleType)


def public_names(module: ModuleType) -> list[str]:
    """Returns the names that a module offers."""
    listed: Iterable[str] = getattr(module, "__all__", None) or dir(module)
    return sorted(name for name in listed if not name.startswith("_"))


@functools.cache
def public_functions() -> dict[str, Found]:
    """Returns every public function by its name, operator or not."""
    found: dict[str, Found] = {}
    for place, module in places():
        for short in public_names(module):
            value: Any = getattr(module, short, None)
            # What a module imports of the standard library is not its own.
            if is_function(value) and not _is_foreign(value):
                name = f"{place.prefix}.{short}"
                found[name] = Found(name, place, value)
    return found


def _is_foreign(function: Any) -> bool:
    module = str(getattr(function, "__module__", "") or "jax")
    # `jax.numpy` offers some of NumPy's own, which are JAX's for a user.
    return module.partition(".")[0] not in ("jax", "numpy", "jaxlib")


def _alias_of(found: Found, first: Mapping[int, str]) -> str:
    """Returns the function that this is an alias of, by identity or else by documentation."""
    known = public_functions()
    same = first[id(found.function)]
    if same != found.name:
        return same
    said = ALIAS.match(inspect.getdoc(found.function) or "")
    named = short_name(f"jax.{said[1]}") if said else found.name
    return named if named in known else found.name


@functools.cache
def canonical_names() -> dict[str, str]:
    """Returns the name at the end of each name's chain of aliases."""
    known = public_functions()
    first: dict[int, str] = {}
    for name, found in known.items():
        own = f"{found.place.prefix}.{getattr(found.function, '__name__', '')}"
        is_own = own == name
        before = first.get(id(found.function))
        if before is None or (is_own and known[before].place == found.place):
            first[id(found.function)] = name

    def last(name: str) -> str:
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            name = _alias_of(known[name], first)
        return name

    return {name: last(name) for name in known}


@functools.cache
def operators() -> tuple[Operator, ...]:
    """Returns every distinct operator, aliases folded, sorted by name."""
    names = canonical_names().items()
    distinct = fold_aliases((one, name) for name, one in names if not exclusion(one))
    return tuple(_operator(public_functions()[name], aliases) for name, aliases in distinct)


def _operator(found: Found, aliases: tuple[str, ...]) -> Operator:
    name, place, function = found
    known = public_functions()
    spaces = {space for spelling in (name, *aliases) for space in known[spelling].place.namespaces}
    operator = Operator(
        framework=FRAMEWORK,
        namespace=place.namespaces[0],
        name=name,
        aliases=tuple(sorted({*aliases, *_spellings((name, *aliases))})),
        namespaces=tuple(sorted(spaces)),
        parameters=parameters.declared(name, function),
        prefixes=("jax.",),
    )
    return msgspec.structs.replace(operator, category=categories.category_of(operator))


@functools.cache
def _bare_names() -> dict[str, str]:
    """Returns each name without its module, and that in the first module that has it."""
    found: dict[str, str] = {}
    for name, canonical in canonical_names().items():
        if not exclusion(canonical):
            found.setdefault(name.rpartition(".")[2], name)
    return found


def _spellings(names: Iterable[str]) -> Iterator[str]:
    """Yields how users write names beside that: without the module, and with all of its path."""
    for name in names:
        bare = name.rpartition(".")[2]
        if _bare_names().get(bare) == name:
            yield bare
        path = path_of(name).removeprefix("jax.")
        if path != name:
            yield path


@functools.cache
def by_name() -> dict[str, Operator]:
    """Returns every name, canonical or alias, and its operator."""
    return {name: operator for operator in operators() for name in operator.names}


def find(name: str) -> Operator | None:
    """Returns the operator of a name, `jnp.add`, `jax.numpy.add` or `add`; else None."""
    return by_name().get(name) or by_name().get(name.removeprefix("jax."))


@functools.cache
def by_identity() -> dict[int, Operator]:
    """Returns the operator of each function object, by identity, under any of its names."""
    known, functions = by_name(), public_functions()
    return {id(functions[name].function): known[name] for name in functions if name in known}


def operator_of(function: Callable[..., Any]) -> Operator | None:
    """Returns the operator that a callable is; None for any other."""
    return by_identity().get(id(function))


def path_of(name: str) -> str:
    """Returns the full path of a function by its name: `jax.numpy.add` of `jnp.add`."""
    found = public_functions()[name]
    return f"jax.{found.place.path}.{name.removeprefix(found.place.prefix + '.')}"
