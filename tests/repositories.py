"""Git in the repositories of tests."""

import subprocess

GIT = ("git", "-c", "user.name=someone", "-c", "user.email=someone@example.org")
"""With an author, whom a machine of tests may not have."""


def git(folder, *words):
    """What a command of git prints, without the ends of its lines."""
    done = subprocess.run(
        [*GIT, "-C", str(folder), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
