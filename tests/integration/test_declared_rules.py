"""What the rules declare is of operators that there are: nothing in them is beside the point."""

import pytest

from opperf.frameworks import is_available, load
from opperf.rules.engine import OPTIONAL, rules_module, uses_of
from opperf.rules.families import FAMILIES
from opperf.rules.registering import place_of

INSTALLED = tuple(filter(is_available, ("mxnet", "numpy", "torch", "jax")))

OTHER_VERSIONS = {
    "mxnet": {
        "attention.py": "fused sliding_context sliding_mask sliding_scores",
        "image.py": "_image_random_crop",
        "indexing.py": "_npi_advanced_indexing _npi_advanced_indexing_multiple _npx_index_add "
        "_npx_index_update",
        "miscellany.py": "_npi_fill_diagonal",
        "quantization.py": "_contrib_intgemm_fully_connected _contrib_intgemm_maxabsolute "
        "_contrib_intgemm_take_weight intgemm_prepare quantized_transpose reshape",
        "shapes.py": "_contrib_dynamic_reshape _npi_repeats",
        "": "masked_log_softmax arrays ary m seq tup",
    },
    "numpy": {
        "linalg.py": "linalg.matrix_norm linalg.svdvals linalg.trace linalg.vecdot "
        "linalg.vector_norm matvec vecmat",
        "shapes.py": "astype unstack",
        "": "",
    },
    "jax": {
        "lax_elementwise.py": "high_half polynomial",
        "lax_others.py": "lax.empty",
        "lax_shapes.py": "broadcast_to_another",
        "nn.py": "lax.scaled_dot",
        "scipy_linalg.py": "scipy.linalg.convolution_matrix scipy.linalg.dft scipy.linalg.leslie "
        "scipy.linalg.qr_multiply scipy.linalg.solve_sylvester",
        "scipy_signal.py": "scipy.stats.poisson.entropy",
        "": "primitive.all_gather_reduced primitive.checkpoint primitive.core_call "
        "primitive.debug_print primitive.reduced_vary_cast primitive.unreduced_psum "
        "primitive.unreduced_reduce_scatter primitive.vary_unreduced_cast",
    },
    "torch": {"": ""},
}
"""Families by module, or the first operator of each row of a table, of operators that only other
versions have, and entries of tables."""

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


def test_every_family_of_a_framework_is_an_operators(framework):
    """Of one that the framework has now, or is known to have in another version."""
    families = rules_module(framework.rules).FAMILIES
    operators = framework.operators()
    names = {name for operator in operators for name in operator.names}
    categories = {operator.category for operator in operators}
    declared = [(family, name in names) for name, family in families.by_name.items()]
    declared += [(family, name in categories) for name, family in families.by_category.items()]
    declared += [(one, name in names) for name, some in families.further.items() for one in some]
    # JAX's `jnp` has the families of NumPy, of which it lacks some.
    own = f"/rules/{framework.name}/"
    places = {
        place_of(family): family.__name__ for family, _ in declared if own in place_of(family)
    }
    used = {place_of(family) for family, is_used in declared if is_used}
    later = {
        (file, name)
        for file, text in OTHER_VERSIONS[framework.name].items()
        for name in text.split()
    }
    lacking = {
        (place.rpartition("/")[2].partition(":")[0], name)
        for place, name in places.items()
        if place not in used and own in place
    }
    if framework.name == "torch":
        lacking = {(file, name) for file, name in lacking if file != "detection.py"}
    assert lacking <= later


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
    assert lacking - other <= set(OTHER_VERSIONS[framework.name][""].split())


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
