"""What the environments of benches are, and who shares them."""

import msgspec
import pytest

from opperf.environments.specification import EnvironmentSpec
from opperf.errors import UsageError
from opperf.suites.bench import Bench
from opperf.suites.environments import (
    environment_of,
    environments_of,
    install_environments,
    suite_environments,
    with_requirements,
)
from opperf.suites.resolving import Suite
from opperf.suites.system import System


def bench(name, *requirements, group="", **more):
    env = EnvironmentSpec(name=group, requirements=requirements, **more)
    return Bench(name, "operators", env=env)


def test_benches_of_an_install_group_share_what_all_of_them_ask_for():
    found = environments_of(
        [
            bench("a", "torch==2.12", group="torch", variables={"A": "1"}),
            bench("b", "numpy<2", "torch==2.12", group="torch", python="3.12"),
            bench("c", "torch==2.12"),
            bench("d", "torch==2.12", group="torch", index_urls=("https://x",)),
        ]
    )
    shared = EnvironmentSpec(
        name="torch",
        requirements=("torch==2.12", "numpy<2"),
        python="3.12",
        index_urls=("https://x",),
        variables={"A": "1"},
    )
    assert found == {
        "a": shared,
        "b": shared,
        "c": EnvironmentSpec(requirements=("torch==2.12",)),
        "d": shared,
    }


def test_benches_that_are_not_enabled_count_where_they_are_named():
    a = bench("a", "torch==2.12", group="g")
    off = msgspec.structs.replace(bench("off", "numpy<2", group="g"), enabled=False)
    other = bench("other", "jax", group="g")
    suite = Suite((a, off), System(), others=(other,))
    assert suite_environments(suite, ["a"])["a"].requirements == ("torch==2.12", "jax")
    assert suite_environments(suite, ["off"])["off"].requirements == (
        "torch==2.12",
        "numpy<2",
        "jax",
    )


def test_a_group_has_one_version_of_python():
    benches = [bench("a", group="g", python="3.11"), bench("b", group="g", python="3.12")]
    with pytest.raises(UsageError, match="b: its install_group g has Python 3.11, and it asks for"):
        environments_of(benches)


def test_what_is_asked_for_replaces_the_same_packages():
    own = EnvironmentSpec("g", ("Torch_Vision==0.28", "torch>=2.10", "-r /x.txt"), "3.11")
    found = with_requirements(own, EnvironmentSpec("", ("torch==2.13", "torch-vision==0.29")))
    assert found.requirements == ("-r /x.txt", "torch==2.13", "torch-vision==0.29")
    assert (found.name, found.python) == ("g", "3.11")
    assert with_requirements(own, EnvironmentSpec(python="3.12")).python == "3.12"


@pytest.mark.parametrize(
    ("variant", "files", "expected"),
    [
        ("", ["requirements.in", "requirements.txt"], "requirements.txt"),
        ("", ["requirements.in", "requirements.cuda.txt"], "requirements.in"),
        ("cuda", ["requirements.in", "requirements.cuda.txt"], "requirements.cuda.txt"),
        ("rocm", ["requirements.in", "requirements.cuda.txt"], "requirements.in"),
        ("unpinned", ["requirements.in", "requirements.txt"], "requirements.in"),
    ],
)
def test_the_file_of_requirements_in_its_folder_counts(tmp_path, variant, files, expected):
    for name in files:
        (tmp_path / name).touch()
    others = {"install_variant": variant} if variant else {}
    env = EnvironmentSpec(requirements=("numpy",))
    found = environment_of(Bench("a", "script", (str(tmp_path),), env=env, others=others))
    assert found.requirements == ("numpy", f"-r {tmp_path / expected}")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a.in", "b.in"], ["a.in", "b.in"]),
        (["a.in", "requirements.in"], ["a.in"]),
        (["a.in", "requirements.cuda.txt"], ["requirements.cuda.txt"]),
    ],
)
def test_those_of_a_benchfile_count_where_nothing_is_pinned(tmp_path, files, expected):
    for name in (*files, "train.py"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / ("sub/train.py" if name == "train.py" else name)).touch()
    found = environment_of(
        Bench(
            "a",
            "script",
            (str(tmp_path / "sub" / "train.py"),),
            others={"install_variant": "cuda"},
            benchfile={"main_script": "sub/train.py", "base_requirements": ["a.in", "b.in"]},
        )
    )
    assert list(found.requirements) == [f"-r {tmp_path / name}" for name in expected]


def test_a_bench_without_requirements_has_opperfs_own_environment(tmp_path):
    assert environment_of(Bench("a", "script", (str(tmp_path),))).is_own
    assert environment_of(Bench("b", "operators", ("relu",))).is_own


def test_one_that_cannot_be_installed_costs_its_own_benches(offline):
    said = []
    specs = environments_of(
        [
            bench("own"),
            bench("good", "scales==1.0", group="g"),
            bench("same", "scales==1.0", group="g"),
            bench("bad", "scales==9"),
        ]
    )
    found = install_environments(specs, said.append)
    assert "own" not in found
    assert found["good"] is found["same"] and found["good"].packages == ("scales==1.0",)
    assert "No matching distribution found for scales==9" in found["bad"]
    assert "\n" not in found["bad"]
