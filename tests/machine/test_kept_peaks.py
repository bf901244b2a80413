"""The kept peaks of a machine: whose they are, and what becomes of a file that is not whole."""

import msgspec
import pytest

from opperf.errors import OutputError
from opperf.folders import DATA
from opperf.machine import kept_peaks as module
from opperf.machine.environment import comparability, differences, environment, environment_texts
from opperf.machine.kept_peaks import Found, identify, keep, kept, peaks_file
from opperf.machine.kernel import usable_cpus
from opperf.machine.topology import Cache
from opperf.model import BandwidthPeak, DispatchPeak, Peaks, ProductPeak

PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-11-30T12:00:00+00:00",
    bandwidths=(BandwidthPeak(level="L2", kernel="copy", threads=2, bytes=2**21, rate=2.5e11),),
    products=(ProductPeak(dtype="float32", threads=2, rate=2e11, by="numpy 2.0, 1024"),),
    dispatches=(DispatchPeak(framework="numpy", ns=300.5),),
)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA, str(tmp_path / "data"))


def test_what_is_kept_is_found_and_a_later_measurement_takes_its_place():
    assert kept({0, 1}) == Found()
    path = keep({0, 1}, [PEAKS])
    assert kept({4, 5}) == Found((PEAKS,))
    later = msgspec.structs.replace(PEAKS, measured="later")
    assert keep({1, 0}, [later]) == path and kept({0, 1}) == Found((later,))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "name, here",
    [
        ("socket.gethostname", lambda: "another"),
        ("cpu_model", lambda: "another"),
        ("caches", lambda: [Cache(1, "L1d", "1K")]),
        ("gpu_facts", lambda: ({"model": "H200"}, {"model": "H200"})),
    ],
)
def test_another_machine_has_none(monkeypatch, name, here):
    keep({0}, [PEAKS])
    monkeypatch.setattr(f"{module.__name__}.{name}", here)
    assert kept({0}) == Found()


def test_the_number_of_cores_identifies_and_a_further_gpu_of_a_model_does_not(monkeypatch):
    keep({0}, [PEAKS])
    assert kept({0, 1}) == Found()
    monkeypatch.setattr(module, "gpu_facts", lambda: ({"model": "H200"},))
    one = identify({0})
    monkeypatch.setattr(module, "gpu_facts", lambda: ({"model": "H200"}, {"model": "H200"}))
    assert identify({1}) == one and one.gpus == ("H200",)


@pytest.mark.parametrize(
    "content, why",
    [
        (b"", "Input data was truncated"),
        (b'{"version": 1', "Input data was truncated"),
        (b'{"version": 2, "machine": {}, "peaks": []}', "Invalid enum value 2 - at `$.version`"),
        (b'{"version": 1, "peaks": []}', "missing required field `machine`"),
    ],
)
def test_a_file_that_is_damaged_or_of_another_version_is_as_none_and_said_in_a_line(content, why):
    path = keep({0}, [PEAKS])
    path.write_bytes(content)
    peaks, problem = kept({0})
    assert peaks == () and "\n" not in problem
    assert problem.startswith(f"{path} has no peaks that this opperf knows: ") and why in problem
    keep({0}, [PEAKS])
    assert kept({0}) == Found((PEAKS,))


def test_a_folder_that_is_in_the_way_is_an_error_of_a_line_and_no_peaks(tmp_path):
    path = peaks_file(identify({0}))
    path.mkdir(parents=True)
    with pytest.raises(OutputError, match=r"cannot be written: Is a directory"):
        keep({0}, [PEAKS])
    assert kept({0}) == Found(problem=f"{path} cannot be read: Is a directory")


def test_an_environment_has_them_and_is_no_other_for_that(fake):
    before = environment(fake)
    keep(usable_cpus(), [PEAKS])
    after = environment(fake)
    assert before.peaks == () and after.peaks == (PEAKS,)
    load = {"load_1min": before.load_1min, "health": before.health}
    assert differences(before, msgspec.structs.replace(after, **load)) == []
    assert comparability(before) == comparability(after)
    assert environment_texts(msgspec.structs.replace(after, **load)) == environment_texts(before)
    assert msgspec.json.decode(msgspec.json.encode(after), type=type(after)) == after
