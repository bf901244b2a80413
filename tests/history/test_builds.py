"""Builds of commits: made once, in the cache."""

import sys
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.history.builds import Builder, BuildError, Recipe, builds_folder, variables_of

COUNTING = "echo built >> {log} && cp file made"


@pytest.fixture
def said():
    return []


@pytest.fixture
def builder(repository, said):
    def made(*command, **fields):
        return Builder(repository, Recipe(command, **fields), said.append)

    return made


def test_a_build_is_made_once(made, repository, builder, tmp_path):
    commit = repository.commit(made.commit("one", file="content"))
    log = tmp_path / "log"
    command = COUNTING.format(log=log)
    first = builder(command).build(commit)
    second = builder(command).build(commit)
    assert first == second
    assert log.read_text() == "built\n"
    assert Path(first.folder, "made").read_text() == "content"
    assert made.worktrees == 1
    builder(f"{command} # other").build(commit)
    assert log.read_text() == "built\n" * 2


def test_a_build_is_found_by_its_processes(made, repository, builder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/inherited")
    commit = repository.commit(made.commit("one"))
    found = builder().build(commit)
    assert found.arm == (f"env:PYTHONPATH={found.folder}:/inherited",)
    other = builder(variables={"LIBRARY": "{worktree}/lib"}).build(commit)
    assert other.arm == (f"env:LIBRARY={found.folder}/lib",)


def test_a_failed_build_says_its_last_lines_and_leaves_nothing(made, repository, builder):
    commit = repository.commit(made.commit("one"))
    with pytest.raises(BuildError, match=r"exit code 3; last output: no header \(all that"):
        builder("echo no header; exit 3").build(commit)
    assert made.worktrees == 1
    (folder,) = (path for path in builds_folder().iterdir() if path.is_dir())
    assert [path.name for path in folder.iterdir()] == ["build.log"]


def test_what_a_killed_build_left_is_replaced(made, repository, builder):
    commit = repository.commit(made.commit("one", file="content"))
    command = (sys.executable, "-c", "open('made', 'x')")
    folder = Path(builder(*command).build(commit).folder)
    (folder.parent / "build.json").unlink()
    repository.remove_worktree(folder)
    repository.add_worktree(folder, commit)
    (folder / "made").touch()
    builder(*command).build(commit)
    assert made.worktrees == 1


def test_kept_worktrees_stay_known_to_git(made, repository, builder):
    commit = repository.commit(made.commit("one"))
    builder(keeps_worktrees=True).build(commit)
    assert made.worktrees == 2


def test_a_command_that_is_not_there_is_refused(made, repository, builder):
    commit = repository.commit(made.commit("one"))
    with pytest.raises(UsageError, match="the build no-such-program x cannot be started"):
        builder("no-such-program", "x").build(commit)
    assert made.worktrees == 1


def test_several_wheels_are_refused(made, repository, builder):
    commit = repository.commit(made.commit("one"))
    with pytest.raises(BuildError, match=r"left 2 wheels, a.whl, b.whl; name one with --wheel"):
        builder("mkdir dist && touch dist/a.whl dist/b.whl").build(commit)
    with pytest.raises(BuildError, match=r"left no wheel at out/\*.whl"):
        builder("true", wheel="out/*.whl").build(commit)


def test_a_wheel_is_installed_in_an_environment(made, repository, builder, monkeypatch):
    commit = repository.commit(made.commit("one"))
    asked = []

    class Installed:
        python = "/environment/bin/python"

    def build_environment(spec, say):
        asked.append(spec.requirements)
        return Installed

    monkeypatch.setattr("opperf.history.builds.build_environment", build_environment)
    name = "alpha-1.0-py3-none-any.whl"
    command = f"mkdir dist && touch dist/{name}"
    found = builder(command, requirements=("numpy<2",)).build(commit)
    assert found.arm == ("python:/environment/bin/python",)
    (requirements,) = asked
    url = f"file://{found.folder}/dist/{name}"
    assert [words.split("@")[-1].strip() for words in requirements] == [url, "numpy<2"]


def test_variables_are_assignments():
    assert variables_of(["A=1", "B=x=y"]) == {"A": "1", "B": "x=y"}
    with pytest.raises(UsageError, match="--commit-env 'A': write it as NAME=VALUE"):
        variables_of(["A"])
