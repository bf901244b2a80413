"""What two environments differ in."""

import msgspec

from opperf.results.environment import differences


def test_the_same_environment_differs_in_nothing(run):
    environment = run.header.environment
    assert differences(environment, msgspec.structs.replace(environment)) == []


def test_each_field_that_differs_is_told_with_both_values(run):
    one = run.header.environment
    other = msgspec.structs.replace(
        one,
        cores=one.cores + 1,
        threads={"OMP_NUM_THREADS": "3"},
        features={**one.features, "CUDA": True},
    )
    found = differences(one, other)
    assert ("cores", one.cores, one.cores + 1) in found
    assert ("features.CUDA", False, True) in found
    assert ("threads.OMP_NUM_THREADS", one.threads.get("OMP_NUM_THREADS", "absent"), "3") in found
    assert {name.partition(".")[0] for name, _, _ in found} == {"cores", "features", "threads"}
