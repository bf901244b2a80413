"""Whether processes run."""

import psutil


def is_running(pid: int) -> bool:
    """Whether a process has not ended, or been awaited, yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
