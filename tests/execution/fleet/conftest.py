"""A Ray cluster of two nodes on this machine, of one core each."""

import os
import signal

import pytest


@pytest.fixture(scope="package")
def cluster(variables):
    """A cluster of nodes `a` and `b`; its head has no core."""
    import ray
    from ray.cluster_utils import Cluster

    before, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)
    os.environ.update(variables)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        for name in "ab":
            made.add_node(num_cpus=1, labels={"name": name, "kind": "small"})
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        # Ray's own handler would end the process of other tests, which run before its end too.
        signal.signal(signal.SIGTERM, handler)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        os.environ.clear()
        os.environ.update(before)
