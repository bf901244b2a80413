"""Facts about caches and GPUs."""

from types import SimpleNamespace

from opperf.runner import hardware
from opperf.runner.hardware import cpu_caches, gpus


def test_caches_are_named_by_level_and_kind(tmp_path):
    rows = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("3", "Unified", "32768K")]
    for number, row in enumerate(rows):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in zip(("level", "type", "size"), row, strict=True):
            (folder / name).write_text(f"{text}\n")
    (tmp_path / "index9").mkdir()
    assert cpu_caches(tmp_path) == {"L1d": "48K", "L1i": "32K", "L3": "32768K"}
    assert cpu_caches(tmp_path / "nowhere") == {}


NVML = SimpleNamespace(
    NVMLError=type("NVMLError", (Exception,), {}),
    NVML_CLOCK_SM="sm",
    NVML_CLOCK_MEM="mem",
    nvmlSystemGetDriverVersion=lambda: b"550.54",
    nvmlSystemGetCudaDriverVersion=lambda: 12040,
    nvmlDeviceGetCount=lambda: 2,
    nvmlDeviceGetHandleByIndex=lambda index: index,
    nvmlDeviceGetName=lambda device: f"GPU {device}",
    nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(total=2**36),
    nvmlDeviceGetMaxClockInfo=lambda device, kind: {"sm": 1980, "mem": 2619}[kind],
)


def test_every_gpu_has_its_facts():
    first, second = gpus(NVML)
    assert first == {
        "model": "GPU 0",
        "driver": "550.54",
        "cuda": "12.4",
        "memory_bytes": "68719476736",
        "clock_mhz": "1980",
        "memory_clock_mhz": "2619",
    }
    assert second["model"] == "GPU 1"


def refuse(*arguments):
    raise NVML.NVMLError("Not Supported")


def test_what_a_part_of_a_gpu_does_not_report_is_missing():
    nvml = SimpleNamespace(
        **vars(NVML) | {"nvmlDeviceGetMaxClockInfo": refuse, "nvmlDeviceGetMemoryInfo": refuse}
    )
    assert gpus(nvml)[0] == {"model": "GPU 0", "driver": "550.54", "cuda": "12.4"}


def test_a_gpu_that_is_lost_has_no_facts():
    lost = SimpleNamespace(**vars(NVML) | {"nvmlDeviceGetHandleByIndex": refuse})
    assert gpus(lost) == ()


def test_without_the_library_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(hardware, "nvidia_library", lambda: None)
    assert gpus() == ()
