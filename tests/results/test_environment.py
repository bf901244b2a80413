"""What two environments differ in."""

import msgspec

from opperf.results.environment import differences


def test_the_same_environment_differs_in_nothing(run):
    environment = run.environment
    assert differences(environment, msgspec.structs.replace(environment)) == []
    again = msgspec.json.decode(msgspec.json.encode(environment), type=type(environment))
    assert differences(environment, again) == []


def test_each_field_that_differs_is_told_with_both_values(run):
    one = run.environment
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


def test_a_key_that_only_one_has_is_absent_in_the_other(run):
    one = msgspec.structs.replace(run.environment, threads={"A": "1"})
    other = msgspec.structs.replace(one, threads={"B": "2"})
    assert differences(one, other) == [("threads.A", "1", "absent"), ("threads.B", "absent", "2")]


def test_health_is_compared_where_both_were_asked(run):
    one = msgspec.structs.replace(run.environment, health={"turbo": "on", "old": "ok"})
    other = msgspec.structs.replace(one, health={"turbo": "off", "new": "ok"})
    assert differences(one, other) == [("health.turbo", "on", "off")]
