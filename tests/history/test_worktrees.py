"""Commits of a repository, and worktrees."""

import pytest

from opperf.errors import UsageError
from opperf.repository import Repository


def test_a_folder_without_a_repository_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is in no git repository; name one with --repository"):
        Repository(tmp_path)
    with pytest.raises(UsageError, match="there is no such folder"):
        Repository(tmp_path / "missing")


def test_a_commit_has_its_facts(made, repository):
    sha = made.commit("A subject: with a colon", file="1")
    found = repository.commit("main")
    assert (found.sha, found.author, found.subject) == (
        sha,
        "A. Developer",
        "A subject: with a colon",
    )
    assert found.date.startswith("20")


@pytest.mark.parametrize("name", ["nowhere", "--all", "v1.0^{tree}"])
def test_an_unknown_commit_is_refused(made, repository, name):
    made.commit("one")
    with pytest.raises(UsageError, match="has no such commit"):
        repository.commit(name)


def test_commits_between_are_those_of_first_parents(made, repository):
    first = made.commit("one")
    made.git("checkout", "--quiet", "-b", "side")
    side = made.commit("side", side="1")
    made.git("checkout", "--quiet", "main")
    second = made.commit("two", file="2")
    made.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    good, bad = repository.commit(first), repository.commit("main")
    along = [commit.sha for commit in repository.between(good, bad)]
    every = [commit.sha for commit in repository.between(good, bad, all_parents=True)]
    assert along == [second, bad.sha]
    assert set(every) == {second, side, bad.sha}
    assert every[-1] == bad.sha


def test_a_range_is_that_of_git(made, repository):
    first = made.commit("one")
    made.git("checkout", "--quiet", "-b", "side")
    side = made.commit("side", side="1")
    made.git("checkout", "--quiet", "main")
    second = made.commit("two", file="2")

    def found(text, **more):
        return [commit.sha for commit in repository.in_range(text, **more)]

    # Of a branch that does not have the other's commits, too.
    assert found("main..side") == [side]
    assert found("..side") == [side] and found("side..") == [second]
    assert found("ALL") == [first, second] and found("side") == [side]
    made.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    assert found(f"{first}..main")[:-1] == [second]
    assert set(found(f"{first}..main", all_parents=True)[:-1]) == {second, side}


def test_good_is_an_ancestor_of_bad(made, repository):
    good = repository.commit(made.commit("one"))
    bad = repository.commit(made.commit("two"))
    with pytest.raises(UsageError, match="is no ancestor of BAD"):
        repository.between(bad, good)
    with pytest.raises(UsageError, match="the same commit"):
        repository.between(good, good)


def test_a_released_worktree_keeps_its_files(made, repository, tmp_path):
    commit = repository.commit(made.commit("one", file="content"))
    folder = tmp_path / "tree"
    repository.add_worktree(folder, commit)
    assert made.worktrees == 2
    repository.release_worktree(folder)
    assert made.worktrees == 1
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_worktree_that_was_left_is_removed(made, repository, tmp_path):
    commit = repository.commit(made.commit("one", file="content"))
    folder = tmp_path / "tree"
    repository.add_worktree(folder, commit)
    repository.remove_worktree(folder)
    assert (made.worktrees, folder.exists()) == (1, False)
