"""The run made by hand of the tests of results, and a repository of some commits."""

import subprocess

import pytest

from opperf.folders import FOLDER
from opperf.repository import Repository
from tests.results.conftest import closing, header, make_record, run  # noqa: F401


class Made:
    """A repository that a test adds commits to."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "A. Developer")
        self.git("config", "user.email", "developer@example.org")

    def git(self, *words):
        done = subprocess.run(
            ["git", *words], cwd=self.path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject, **files):
        for name, text in files.items():
            (self.path / name).write_text(text)
            self.git("add", name)
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    @property
    def worktrees(self):
        return self.git("worktree", "list", "--porcelain").count("worktree ")


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    return Made(tmp_path / "repository")


@pytest.fixture
def repository(made):
    return Repository(made.path)
