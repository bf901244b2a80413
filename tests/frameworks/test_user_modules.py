"""Where a module's name leads, and which files were loaded for a target."""

import hashlib
import importlib
import sys
from pathlib import Path

import pytest

from opperf.errors import BrokenModuleError, UnknownOperatorError, UsageError
from opperf.frameworks import user_modules
from opperf.frameworks.user_code import function_of, target_at
from opperf.frameworks.user_modules import OWN_MODULES, import_module, loaded_for, module_of
from opperf.model import CallableTarget, FileTarget, ModelTarget, ObjectTarget, OperatorTarget, Role


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Returns the last folder of the path; the working directory is another one, with a package
    `opperf_pkg` and modules beside it."""
    here, installed = tmp_path / "repository", tmp_path / "installed"
    for folder in (here, installed):
        folder.mkdir()
    write(here / "opperf_pkg" / "k.py", "def total(x):\n    return 'here'\n")
    write(here / "opperf_pkg" / "__init__.py")
    write(here / "inputs.py", "def make():\n    return {}\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed)])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(user_modules, "BESIDE", [])
    monkeypatch.delenv(OWN_MODULES, raising=False)
    monkeypatch.chdir(here)
    module_of.cache_clear()
    importlib.invalidate_caches()
    return installed


def write(file, text=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def install(path, text="def total(x):\n    return 'installed'\n"):
    write(path / "opperf_pkg" / "__init__.py")
    write(path / "opperf_pkg" / "k.py", text)


def called(text="opperf_pkg.k:total"):
    return function_of(target_at("fake", text), None, {})(1)


def test_a_module_here_is_its_file_unless_another_has_its_name(path):
    assert called() == "here"
    install(path)
    with pytest.raises(
        UsageError, match=r"opperf_pkg.k is two files, opperf_pkg/k.py .*/installed"
    ):
        called()
    assert called("opperf_pkg/k.py:total") == "here"


def test_an_editable_install_of_this_folder_is_no_other(path):
    sys.path.append(str(Path.cwd()))
    assert called() == "here"


def test_an_arm_imports_what_its_own_python_would(path, monkeypatch):
    monkeypatch.setenv(OWN_MODULES, "1")
    for find in (called, lambda: import_module("opperf_pkg.k")):
        with pytest.raises(UnknownOperatorError, match=r"No module named .*: opperf_pkg/k\.py"):
            find()
    install(path)
    assert called() == "installed"
    assert import_module("opperf_pkg.k").total(1) == "installed"
    assert called(f"{Path.cwd() / 'opperf_pkg' / 'k.py'}:total") == "here"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import opperf_no_such", "ModuleNotFoundError: No module named 'opperf_no_such'"),
        ("from math import no_such", "ImportError: cannot import name 'no_such'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_fails_is_no_missing_one(path, monkeypatch, text, reason):
    monkeypatch.setenv(OWN_MODULES, "1")
    install(path, text)
    with pytest.raises(BrokenModuleError, match=f"cannot be loaded: {reason}"):
        called()
    for missing in ("opperf_pkg.other:total", "opperf_no_such.k:total", "opperf_pkg:total"):
        with pytest.raises(UnknownOperatorError) as caught:
            called(missing)
        assert type(caught.value) is UnknownOperatorError


def test_what_is_beside_the_inputs_is_not_measured(path, monkeypatch):
    monkeypatch.setenv(OWN_MODULES, "1")
    module_of(str(Path("inputs.py").resolve()))
    assert str(Path.cwd()) in sys.path
    with pytest.raises(UnknownOperatorError, match="No module named"):
        called()
    # Not even where a file has imported it from its own folder.
    importlib.import_module("opperf_pkg.k")
    with pytest.raises(UnknownOperatorError, match="No module named 'opperf_pkg.k'"):
        called()
    assert str(Path.cwd()) in sys.path


def test_what_a_module_imports_is_not_found_beside_the_inputs(path, monkeypatch):
    monkeypatch.setenv(OWN_MODULES, "1")
    write(Path("opperf_core.py"))
    module_of(str(Path("inputs.py").resolve()))
    install(path, "import opperf_core\n\ndef total(x):\n    return x\n")
    with pytest.raises(UnknownOperatorError, match="No module named 'opperf_core'"):
        called()


def digest(file):
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]


def test_the_file_of_a_module_has_its_hash(path):
    assert loaded_for(CallableTarget("fake", "opperf_pkg.k:total")) == (), "not loaded"
    Path("opperf_pkg/k.py").unlink()
    install(path)
    target = target_at("fake", "opperf_pkg.k:total")
    function_of(target, None, {})
    (found,) = loaded_for(target)
    file = path / "opperf_pkg" / "k.py"
    assert (found.name, found.file, found.digest) == ("opperf_pkg.k", str(file), digest(file))
    assert found.role is Role.MEASURED
    for other in (ObjectTarget("fake", "opperf_pkg.k.total"), ModelTarget("fake", target.path)):
        assert loaded_for(other) == (found,)
    file.write_text("changed = True\n")
    (changed,) = loaded_for(target)
    assert changed.digest == digest(file) != found.digest


def test_a_file_is_the_users_choice_and_what_it_finds_beside_is_not(path):
    write(Path("mine.py"), "from opperf_pkg.k import total\n\ndef own(x):\n    return x\n")
    (own,) = loaded_for(FileTarget("fake", "mine.py", "own"))
    assert (own.name, own.file, own.role) == ("mine.py", str(Path("mine.py").resolve()), Role.NAMED)
    named, defining = loaded_for(FileTarget("fake", "mine.py", "total"))
    assert named == own
    assert (defining.name, defining.role) == ("opperf_pkg.k", Role.MEASURED)


def test_modules_that_define_what_another_shows_are_named(path):
    install(path)
    write(path / "opperf_front.py", "from opperf_pkg.k import total\n")
    target = target_at("fake", "opperf_front:total")
    function_of(target, None, {})
    assert [(found.name, found.role) for found in loaded_for(target)] == [
        ("opperf_front", Role.MEASURED),
        ("opperf_pkg.k", Role.PART),
    ]


def test_compiled_modules_of_the_package_are_named():
    import msgspec

    target = CallableTarget("fake", "msgspec.json:encode")
    found = {own.name: own for own in loaded_for(target)}
    assert found["msgspec._core"].file == str(Path(msgspec._core.__file__).resolve())
    assert found["msgspec.json"].role is Role.MEASURED


@pytest.mark.parametrize(
    "target",
    [
        OperatorTarget("fake", "relu"),
        CallableTarget("json", "json.decoder:JSONDecoder"),
        CallableTarget("fake", "nd.relu"),
        FileTarget("fake", "no/such/file.py", "f"),
    ],
)
def test_a_frameworks_own_and_what_cannot_be_loaded_have_none(target):
    assert loaded_for(target) == ()


def test_modules_of_the_user_and_of_the_path_are_listed(tmp_path, monkeypatch):
    for folder in ("own", "site-packages"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"of_{folder[:4]}.py").write_text("")
        monkeypatch.syspath_prepend(str(tmp_path / folder))
        monkeypatch.delitem(sys.modules, f"of_{folder[:4]}", raising=False)
    importlib.import_module("of_own")
    importlib.import_module("of_site")
    listed = {found.name for found in user_modules.users_modules()}
    assert "of_own" in listed and not {"of_site", "opperf", "json", "pytest"} & listed
    assert not any(name.startswith(("_sysconfig", "__mp")) for name in listed)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site-packages"))
    assert "of_site" in {found.name for found in user_modules.users_modules()}


@pytest.mark.parametrize("name", ("", ".", "..", "/", "a/b", "a..b", "y" * 5000, "a\0"))
def test_what_is_no_name_of_a_module_is_no_file(name):
    assert user_modules.file_here(name) is None
