"""What the rules declare is of operators that there are: nothing in them is beside the point."""

import fnmatch

import pytest

from opperf.frameworks import is_available, load
from opperf.rules.engine import OPTIONAL, rules_module, uses_of
from opperf.rules.families import FAMILIES
from opperf.rules.registering import place_of
from tests.integration.planned_cases import is_of

INSTALLED = tuple(filter(is_available, ("mxnet", "numpy", "torch", "jax")))

OTHER_VERSIONS = {
    "mxnet": "_sg_onednn_* _contrib_sldwin_atten_* _contrib_intgemm_* _npx_index_* "
    "_npx_foreach _npx_while_loop _npx_cond _npx_deformable_convolution "
    "_npx_modulated_deformable_convolution _image_random_crop _image_random_resized_crop "
    "_npi_advanced_indexing _npi_advanced_indexing_multiple _npi_qr _npi_matrix_rank "
    "_npi_matrix_rank_none_tol _npi_fill_diagonal _npi_laplace _npi_repeats "
    "_adabelief_update _mp_adabelief_update _multi_adabelief_update _multi_lans_update "
    "_multi_mp_adabelief_update _multi_mp_lans_update quantized_reshape quantized_transpose "
    "_npx_quantized_reshape _npx_quantized_transpose _contrib_dynamic_reshape "
    "random_binomial sample_binomial sample_categorical",
    "numpy": "strings.* char.slice char.compare_chararrays random.Generator.rand* "
    "random.integers random.multivariate_hypergeometric random.permuted bitwise_count "
    "linalg.matrix_norm linalg.svdvals linalg.vecdot linalg.diagonal "
    "linalg.matrix_transpose linalg.trace matvec vecmat vecdot matrix_transpose "
    "unstack astype",
    "jax": "jnp.top_k lax.mulhi lax.polynomial lax.empty lax.scaled_dot "
    "scipy.linalg.hadamard scipy.linalg.helmert scipy.linalg.invhilbert scipy.linalg.invpascal "
    "scipy.linalg.circulant scipy.linalg.companion scipy.linalg.fiedler "
    "scipy.linalg.fiedler_companion scipy.linalg.hankel scipy.linalg.convolution_matrix "
    "scipy.linalg.dft scipy.linalg.leslie scipy.linalg.qr_multiply "
    "scipy.linalg.solve_sylvester scipy.stats.poisson.entropy",
    "torch": "",
}
"""Names with rules that only other versions have; of NumPy's that two modules share by one table,
those that only one of them has."""

OTHER_ENTRIES = {
    "mxnet": "masked_log_softmax arrays ary m seq tup",
    "numpy": "",
    "jax": "primitive.all_gather_reduced primitive.checkpoint primitive.core_call "
    "primitive.debug_print primitive.reduced_vary_cast primitive.unreduced_psum "
    "primitive.unreduced_reduce_scatter primitive.vary_unreduced_cast",
    "torch": "",
}
"""Entries of tables that only other versions have."""

TABLES = tuple(
    name
    for name, default in OPTIONAL.items()
    # The others have tests of their own: values, and functions that are no operators.
    if isinstance(default, (dict, frozenset)) and name not in ("OPERATIONS", "FUNCTIONS")
)


@pytest.fixture(scope="module", params=INSTALLED)
def framework(request):
    return load(request.param)


def is_of_another_package(name):
    return name.startswith("torchvision::") and not is_available("torchvision")


def test_every_name_with_a_family_is_an_operators(framework):
    """Of one that the framework has now, or is known to have in another version."""
    if not is_of(framework.name):
        pytest.skip(f"what {framework.name} {framework.version()} lacks is not known")
    families = rules_module(framework.rules).FAMILIES
    operators = framework.operators()
    names = {name for operator in operators for name in operator.names}
    names |= {operator.category for operator in operators}
    declared = [*families.by_name.items(), *families.by_category.items()]
    declared += [(name, one) for name, some in families.further.items() for one in some]
    # JAX's `jnp` has the families of NumPy, of which it lacks some.
    own = f"/rules/{framework.name}/"
    lacking = {name for name, family in declared if own in place_of(family)} - names
    later = OTHER_VERSIONS[framework.name].split()
    unused = [pattern for pattern in later if not fnmatch.filter(lacking, pattern)]
    lacking -= {name for pattern in later for name in fnmatch.filter(lacking, pattern)}
    assert not {name for name in lacking if not is_of_another_package(name)}
    assert not unused


def test_every_entry_of_a_table_is_an_operators(framework):
    rules = rules_module(framework.rules)
    known = {name for operator in framework.operators() for name in operator.names}
    parameters = [one for operator in framework.operators() for one in operator.parameters]
    known |= {one.name for one in parameters}
    known |= {
        use.operation
        for operator in framework.operators()
        for use, _ in uses_of(operator, rules.OPERATIONS)
    }
    lacking = {
        key if isinstance(key, str) else key[0] for table in TABLES for key in getattr(rules, table)
    } - known
    lacking |= rules.FAMILIES.derivations.keys() - known
    other = {name for name in lacking if is_of_another_package(name)}
    assert lacking - other <= set(OTHER_ENTRIES[framework.name].split())


def test_what_replaces_a_shared_family_has_one_to_replace(framework):
    """Of a table that says so once for all of its operators, one operator at least."""
    rules = rules_module(framework.rules)
    families = rules.FAMILIES
    replacing = set(families.replaces.values())
    for operator in framework.operators():
        uses = (use.operation for use, _ in uses_of(operator, rules.OPERATIONS))
        if any(use in families.by_operation for use in uses):
            replacing -= {families.replaces.get(name) for name in operator.names}
    assert not replacing


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
def test_every_shared_family_is_of_an_operation_of_a_framework():
    bound = {
        use.operation
        for name in INSTALLED
        for operator in load(name).operators()
        for use, _ in uses_of(operator, rules_module(load(name).rules).OPERATIONS)
    }
    reached = {FAMILIES.by_operation[name] for name in bound if name in FAMILIES.by_operation}
    lacking = {family.__name__ for family in FAMILIES.by_operation.values()} - {
        family.__name__ for family in reached
    }
    # MXNet 2 has it.
    assert lacking <= {"masked_softmax"}
