"""Commits as a repository has them."""

from opperf.history.repository import read_commit, read_commits
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
