"""Commits as a repository has them."""

import pytest

from opperf.errors import UsageError
from opperf.repository import read_checkout, read_commit, read_commits
from tests.history.test_commands import git


def test_commits_are_read_together_as_they_are_alone(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")

    def commit(subject):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject)

    commit("first")
    git(tmp_path, "checkout", "-q", "-b", "side")
    commit("aside 1")
    commit("aside 2")
    git(tmp_path, "checkout", "-q", "main")
    commit("second")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "merge", "side")
    commit("last")
    shas = git(tmp_path, "rev-list", "--all").split()
    found = read_commits(tmp_path, [*shas, "f" * 40, "HEAD"])
    assert found == {sha: read_commit(tmp_path, sha) for sha in shas} and len(shas) == 6
    assert found[shas[0]].position == 6
    short = shas[0][:8]
    assert read_commits(tmp_path, [short]) == {short: found[shas[0]]}
    assert read_commits(tmp_path, ["f" * 40]) == {}


def test_a_subject_may_have_any_character_of_one_line(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    subject = "a\u2028b\x85c\x1fd"
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "last")
    shas = git(tmp_path, "rev-list", "HEAD").split()
    assert [commit.subject for commit in read_commits(tmp_path, shas).values()] == ["last", subject]


def test_a_hook_of_another_repository_changes_nothing(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q", "-b", name)
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", name)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "there" / ".git"))
    assert read_commit(tmp_path / "here", "HEAD").subject == "here"


def test_what_is_no_commit_or_no_git_is_one_line(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q", "-b", "main")
    with pytest.raises(UsageError, match="has no commit --all"):
        read_commit(tmp_path, "--all")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="^git is not installed, or not on PATH$"):
        read_checkout(tmp_path)
