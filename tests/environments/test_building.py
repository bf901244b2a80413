"""Environments are installed once, found again, and say in one line why they cannot be."""

import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from opperf.environments import building
from opperf.environments.builders import CHOICE, Builder, pip_reason
from opperf.environments.building import (
    WORKER_PACKAGES,
    build_environment,
    find_environment,
    find_python,
    installed,
    is_version_of,
    own_version,
)
from opperf.environments.specification import EnvironmentSpec, read_requirements
from opperf.errors import InstallationError
from opperf.folders import FOLDER
from opperf.worker.program import BASE

SCALES = EnvironmentSpec(requirements=("scales==1.0",))

UV = shutil.which("uv")


def silent(text):
    pass


@pytest.fixture
def commands(monkeypatch):
    """The commands that are run, as they are."""
    run, kept = building.run_command, []

    def keep(words, *options):
        kept.append(words)
        return run(words, *options)

    monkeypatch.setattr(building, "run_command", keep)
    return kept


FAKE_PIP = """\
installed=$(dirname "$1")/installed
action=$2
shift 2
case $action in
freeze) cat "$installed" ;;
install) for word; do case $word in /*) cat "$word" ;; -*) ;; *) echo "$word" ;; esac; done ;;
esac >"$installed.new"
cat "$installed.new"
mv "$installed.new" "$installed"
"""
"""Installs what it is told to, without looking for it."""


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """A builder that takes milliseconds, and a cache of the test's own."""
    (tmp_path / "pip").write_text(FAKE_PIP)

    def create(python, folder):
        return ["sh", "-c", f"mkdir -p {folder}/bin && ln -s {python} {folder}/bin/python"]

    builder = Builder(
        "fake",
        create,
        pip=lambda python: ["sh", str(tmp_path / "pip"), str(python)],
        target=lambda python: [],
        freeze_options=(),
        index_options=(),
        reason=pip_reason,
    )
    monkeypatch.setattr(building, "find_builder", lambda: builder)
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))


def test_an_environment_has_what_was_asked_for_and_no_more(offline):
    said = []
    spec = EnvironmentSpec(requirements=("uses_scales", "scales<2"), variables={"FACTOR": "3"})
    made = build_environment(spec, said.append)
    assert made.packages == ("scales==1.0", "uses_scales==1.0")
    out = subprocess.check_output([made.python, "-c", "import scales; print(scales.FACTOR)"])
    assert out == b"1\n"
    # A script of a package begins with the path of its interpreter.
    assert subprocess.check_output(["scales"], env=made.variables) == b"1\n"
    assert made.variables["FACTOR"] == "3"
    assert len(said) == 2 and "installing uses_scales,scales<2" in said[0]
    assert "installed 2 packages" in said[1]


def test_what_is_installed_is_found_without_a_command(quick, commands):
    made = build_environment(SCALES, silent)
    commands.clear()
    assert build_environment(SCALES, pytest.fail) == made
    assert find_environment(SCALES) == made and installed(SCALES)
    # The group's name is not part of what is asked for, and neither is the order.
    two = EnvironmentSpec(requirements=("uses_scales", "scales==1.0"))
    build_environment(two, silent)
    commands.clear()
    turned = EnvironmentSpec("other", two.requirements[::-1])
    assert find_environment(turned).spec == turned, "it is called as who asks for it calls it"
    assert commands == []


@pytest.mark.parametrize(
    "other",
    [
        EnvironmentSpec(requirements=("scales==3.0",)),
        EnvironmentSpec(requirements=("scales==1.0",), index_urls=("https://x.org/simple",)),
        EnvironmentSpec(requirements=("scales==1.0",), python="3.9"),
        EnvironmentSpec(requirements=("scales==1.0",), variables={"CC": "clang"}),
    ],
)
def test_another_request_is_another_environment(quick, other):
    build_environment(SCALES, silent)
    assert not installed(other)


def test_an_inherited_index_is_part_of_the_request(quick, monkeypatch):
    build_environment(SCALES, silent)
    monkeypatch.setenv("PIP_INDEX_URL", "https://x.org/simple")
    assert not installed(SCALES)


def test_opperfs_own_environment_needs_no_installation():
    assert installed(EnvironmentSpec(name="group", variables={"A": "1"}))


def test_a_file_of_requirements_counts_by_its_content(quick, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("scales==1.0\n")
    spec = EnvironmentSpec(requirements=(f"-r {file}",))
    assert build_environment(spec, silent).packages == ("scales==1.0",)
    file.write_text("scales==2.0\n")
    assert not installed(spec)
    file.unlink()
    with pytest.raises(InstallationError, match=f"-r {file} cannot be read"):
        installed(spec)


def test_what_was_cut_short_is_installed_again(quick, tmp_path):
    made = build_environment(SCALES, silent)
    (building.environments_folder() / made.folder / building.INSTALLED).unlink()
    assert not installed(SCALES)
    assert build_environment(SCALES, silent) == made
    # An upgrade of Python has removed the interpreter that it links to.
    made.python.unlink()
    made.python.symlink_to(tmp_path / "gone")
    assert not installed(SCALES)


def test_several_processes_at_once_install_it_once(quick):
    said, found = [], []
    threads = [
        threading.Thread(target=lambda: found.append(build_environment(SCALES, said.append)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(str, found))) == 1 and len(found) == 3
    assert sum("installing scales==1.0" in line for line in said) == 1
    assert all(
        "waiting for another process" in line
        for line in said
        if "installed" not in line[:9] and "installing scales==1.0 " not in line
    )


def failure(spec):
    with pytest.raises(InstallationError) as raised:
        build_environment(spec, silent)
    text = str(raised.value)
    assert "\n" not in text
    assert not installed(spec)
    return text


def test_a_requirement_that_does_not_exist_is_one_line_with_the_log(offline):
    text = failure(EnvironmentSpec(requirements=("scales==9",)))
    assert text.startswith("scales==9 is not installed here, and cannot be: ")
    assert "No matching distribution found for scales==9" in text
    assert "reaches no package index" not in text
    log = text.rpartition("printed: ")[2].rstrip(")")
    assert "from versions: 1.0, 2.0" in Path(log).read_text()


def test_without_a_network_that_is_said_at_once(offline, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        # Bound and not listening: connections are refused.
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/simple")
        text = failure(EnvironmentSpec(requirements=("no-such-package==1",)))
    assert "pip reaches no package index: " in text
    assert "No matching distribution found for no-such-package==1" in text


def test_a_version_of_python_that_is_not_here(offline):
    text = failure(EnvironmentSpec(requirements=("scales",), python="3.1"))
    assert text.startswith("Python 3.1 is not on this machine; install it, or uv")
    assert "no such program" in failure(EnvironmentSpec(python="/no/python"))


def test_a_folder_that_cannot_be_written(offline, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER, str(tmp_path / "file"))
    assert "cannot be written" in failure(SCALES)


def test_the_running_python_serves_for_its_versions():
    minor = "{}.{}".format(*sys.version_info)
    assert find_python("") == find_python(minor) == sys.executable
    assert find_python(own_version()) == sys.executable
    assert find_python(sys.executable) == sys.executable
    assert is_version_of("3.1", "3.1.2") and not is_version_of("3.1", "3.12.1")


def test_a_lock_is_installed_as_it_is(quick):
    spec = read_requirements("scales==2.0")
    made = build_environment(spec, silent)
    assert made.packages == ("scales==2.0",)
    # The versions of the lock are those that are installed already.
    assert build_environment(spec, pytest.fail, made.packages) == made
    older = build_environment(spec, silent, ("scales==1.0",))
    assert older.packages == ("scales==1.0",) and older.folder != made.folder
    assert find_environment(spec, ("scales==1.0",)) == older
    assert find_environment(spec) == made


def test_again_replaces_it(quick, commands):
    made = build_environment(SCALES, silent)
    (made.python.parent / "stale").touch()
    commands.clear()
    assert build_environment(SCALES, silent, again=True) == made
    assert commands and not (made.python.parent / "stale").exists()


def test_what_another_version_of_python_needs_is_known():
    assert WORKER_PACKAGES == BASE


@pytest.mark.skipif(UV is None, reason="uv is not installed")
def test_uv_installs_the_same(offline, monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv(CHOICE, "uv")
    made = build_environment(EnvironmentSpec(requirements=("uses_scales", "scales<2")), silent)
    assert made.builder == "uv"
    assert made.packages == ("scales==1.0", "uses-scales==1.0")
    assert subprocess.check_output(["scales"], env=made.variables) == b"1\n"
    text = failure(EnvironmentSpec(requirements=("scales==9",)))
    assert "scales==9" in text.partition("cannot be: ")[2]
    text = failure(EnvironmentSpec(requirements=("scales",), python="3.1"))
    assert text.startswith("Python 3.1 is not on this machine: uv: ")
