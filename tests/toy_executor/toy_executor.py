"""An executor of another package: it measures in threads, each with a process of its own."""

from contextlib import contextmanager

from opperf.execution.workers import Workers

NUMBER = 3


class Threads:
    """Measures two cases at once, whatever is measured; a toy does not care about figures."""

    lanes = 2

    def __init__(self, task):
        self.everyone = [Workers(task.interpreters) for _ in range(self.lanes)]
        self._free = [*self.everyone]

    def _call(self, method, case):
        workers = self._free.pop()
        try:
            return getattr(workers, method)(case)
        finally:
            self._free.append(workers)

    def measure(self, case):
        return self._call("measure", case)

    def environment(self, case):
        return self._call("environment", case)

    def kill(self):
        for workers in self.everyone:
            workers.kill()


@contextmanager
def open_toy(task):
    """Yields the executor; its processes end with it."""
    made = Threads(task)
    try:
        yield made
    finally:
        for workers in made.everyone:
            workers.close()
