"""Names without a public interface: which ones the installed versions lack, what happens without
one, and that nothing but the modules `private` uses any."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import opperf.frameworks
from opperf.errors import UnsupportedError
from opperf.frameworks import installed, is_available, load, package_of
from opperf.frameworks.installed import (
    Package,
    PrivateName,
    absent_names,
    names_in,
    package_version,
)
from opperf.sources.choices import choices

ABSENT = {
    "torch": {"2.5": {"ACTIVITY_TYPE"}, "2.13": set(), "2.14": set()},
    "jax": {"0.6": {"PROFILE_DATA", "PROFILE_OPTIONS"}, "0.7": set(), "0.12": set()},
    "numpy": {"1.23": set(), "1.26": set(), "2.5": set()},
    "mxnet": {"1.9": {"CONTROL_FLOW"}, "2.0": set()},
}
"""The private names that versions lack, as they were when each was tested. Those without an entry
have all."""


def module_of(name):
    """The private names of a framework, imported."""
    if not is_available(name) or package_of(name).obstacle():
        pytest.skip(f"needs {name}")
    load(name)
    return importlib.import_module(f"opperf.frameworks.{name}.private")


@pytest.mark.parametrize("name", ABSENT)
def test_the_installed_version_lacks_what_is_known(name):
    names = names_in(module_of(name))
    assert names
    version = ".".join(package_version(name).split(".")[:2])
    absent = {one for one, private_name in names.items() if private_name.find() is None}
    assert absent == ABSENT[name].get(version, set())


def test_versions_tested_are_those_of_the_table():
    for name, versions in ABSENT.items():
        oldest, newest = package_of(name).tested
        assert {oldest, newest} <= versions.keys()


@pytest.mark.parametrize("name", ABSENT)
def test_each_that_is_missing_is_one_clear_line(name, monkeypatch):
    module = module_of(name)
    for one in names_in(module).values():
        monkeypatch.setattr(one, "places", tuple(f"{place}_gone" for place in one.places))
        with pytest.raises(UnsupportedError) as caught:
            one.get()
        assert re.fullmatch(
            rf"{name} \S+ has no {name}\S+_gone, which opperf needs for .+", str(caught.value)
        )
    assert len(absent_names(module)) == len(names_in(module))


def test_places_of_several_versions_are_tried_in_turn(monkeypatch):
    newer, older = "opperf.frameworks:load_quickly", "opperf.frameworks:load"
    assert PrivateName("tests", newer, older).find() is load
    assert PrivateName("tests", "opperf.no_such_module:load", older).find() is load
    monkeypatch.setattr(opperf.frameworks, "load_quickly", None, raising=False)
    installed._find.cache_clear()
    assert PrivateName("tests", newer).find() is None, "None is a placeholder"


@pytest.fixture
def without(monkeypatch):
    """Takes private names from a framework."""

    def take(framework, *names):
        module = module_of(framework)
        for name in names:
            monkeypatch.setattr(getattr(module, name), "places", ("opperf:gone",))
        return load(framework)

    return take


def test_torch_below_2_8_calls_the_cold_cache_otherwise(monkeypatch):
    module = module_of("torch")
    utils = importlib.import_module("torch._inductor.utils")
    current = module.FRESH_CACHE.find()
    monkeypatch.delattr(utils, "fresh_cache", raising=False)
    monkeypatch.setattr(utils, "fresh_inductor_cache", current, raising=False)
    installed._find.cache_clear()
    assert module.FRESH_CACHE.get() is current
    installed._find.cache_clear()


def test_torch_without_kinds_of_events_tells_them_by_their_devices(without):
    torch_framework = without("torch", "ACTIVITY_TYPE")
    torch = importlib.import_module("torch")
    data = torch.ones(64)
    (times,) = torch_framework.profilers.own()["native"]("cpu(0)").trace([lambda: data + 1], 3)
    assert len(times.times) == 3 and min(times.times) > 0


def test_torch_without_the_table_of_kernels_leaves_it_to_the_call(without):
    operator = load("torch").resolve("add") if is_available("torch") else None
    assert without("torch", "HAS_KERNEL").inference.missing_kernel(operator, "cuda(0)") == ""


def test_jax_without_profiles_has_no_native_profiler(without):
    assert "native" not in without("jax", "PROFILE_DATA").profilers.own()


def test_a_registry_without_some_of_its_names_says_so(without, monkeypatch):
    # Kept for the process: not to be read first while names are gone.
    module_of("jax")
    load("jax").operators()
    framework = without("jax", "LOWERINGS")
    registry = importlib.import_module("opperf.frameworks.jax.registry")
    gone = registry.Place("scipy.gone", "scipy.gone")
    monkeypatch.setattr(registry, "PLACES", (*registry.PLACES, gone))
    registry.places.cache_clear()
    assert gone not in dict(registry.places())
    registry.places.cache_clear()
    missing = choices(framework)["missing"]
    assert [one for one in missing if one.startswith("opperf.gone (for primitives outside")]
    assert "jax.scipy.gone (for its functions)" in missing


def test_numpy_without_the_processors_features(without):
    assert without("numpy", "CPU_FEATURES").build.features() == {}


def test_a_version_outside_those_that_are_tested_is_warned_of():
    package = Package("mine", "forward", "mine", tested=("1.9", "2.13"))
    for version in ("1.9", "1.9.1", "1.10", "2.13.0+cpu", "2.13.9rc1", "unknown"):
        assert package.untested(version) == ""
    assert package.untested("1.8.9") == "1.8.9 is older than the tested versions, 1.9 to 2.13"
    assert "2.14.0 is newer than" in package.untested("2.14.0")
    assert "3.0 is newer than" in package.untested("3.0")
    assert Package("mine", "forward", "mine").untested("3.0") == ""


FOLDER = Path(opperf.frameworks.__file__).parent
IMPORTED_AS = {"torch": "torch", "jax": "jax", "mxnet": "mx", "numpy": "np"}
ALLOWED = {
    # Where the text of a function is in scripts.
    ("mxnet/direct.py", "mxnet.base._LIB"),
    # A module that a process without opperf runs.
    ("torch/posed.py", "self.reference._schema"),
}
OF_TUPLES = {"_replace", "_asdict", "_fields", "_make"}


def own_names():
    """The names that modules of frameworks define, or set as attributes."""
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
                yield node.attr
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def private_uses(path, roots, own):
    """The dotted names below a framework, and the attributes that no module of opperf's defines, in
    a module, with a word that begins with `_`."""
    for node in ast.walk(ast.parse(path.read_text())):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            found = [ast.unparse(node)]
            if re.fullmatch(r"_[^_]\w*", node.attr) and node.attr not in own | OF_TUPLES:
                yield found[0]
        for name in found:
            first, *words = name.split(".")
            if first in roots and any(re.fullmatch(r"_[^_]\w*", word) for word in words):
                yield name


@pytest.mark.parametrize("name, imported_as", IMPORTED_AS.items())
def test_private_names_are_used_in_one_module_only(name, imported_as):
    paths = [path for path in (FOLDER / name).rglob("*.py") if path.name != "private.py"]
    own = set(own_names())
    found = {
        (str(path.relative_to(FOLDER)), used)
        for path in paths
        for used in private_uses(path, {name, imported_as}, own)
    }
    assert len(paths) > 5 and found <= ALLOWED
