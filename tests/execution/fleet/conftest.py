"""A Ray cluster of two nodes on this machine, of one core each."""

import contextlib
import signal

import pytest

HEAD = {"num_cpus": 0, "include_dashboard": False}


class Nodes:
    """A cluster whose nodes find the fake framework. Other tests have neither its environment nor
    Ray's handler of SIGTERM, which ends the process."""

    def __init__(self, variables):
        from ray.cluster_utils import Cluster

        # Ray would end workers while other tests take the machine's memory.
        self._variables = variables | {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_memory_monitor_refresh_ms": "0",
        }
        with self._starting():
            self._cluster = Cluster(initialize_head=True, head_node_args=HEAD)
        self.address = self._cluster.address
        self.remove_node = self._cluster.remove_node
        self.shutdown = self._cluster.shutdown

    def add_node(self, **arguments):
        with self._starting():
            return self._cluster.add_node(**arguments)

    def connect(self):
        import ray

        with self._starting():
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")

    @contextlib.contextmanager
    def _starting(self):
        handler = signal.getsignal(signal.SIGTERM)
        with pytest.MonkeyPatch.context() as patched:
            for name, value in self._variables.items():
                patched.setenv(name, value)
            try:
                yield
            finally:
                signal.signal(signal.SIGTERM, handler)


@pytest.fixture(scope="package")
def cluster(variables):
    """A cluster of nodes `a` and `b`; its head has no core. It ends with the tests here, as its
    dozen processes take time of the processor while nothing is asked of them."""
    import ray

    nodes = Nodes(variables)
    try:
        for name in "ab":
            nodes.add_node(num_cpus=1, labels={"name": name, "kind": "small"})
        nodes.connect()
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()
