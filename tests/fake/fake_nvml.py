"""A fake of NVIDIA's management library, with one GPU whose states are a list."""

from types import SimpleNamespace

UUID = "GPU-2f1a3c4e"


class NVMLError(Exception):
    """Raised for what a GPU or a driver does not support."""


def refuse(*arguments):
    raise NVMLError("Not Supported")


def fake_nvml(states, **functions):
    """A library whose GPU has these (clock, temperature, bits), one for each reading, the last one
    for all later ones. `functions` replace those of the library."""
    remaining = list(states)
    current = []

    def clock(handle, kind):
        assert (handle, kind) == ("handle", "sm")
        return current[0][0]

    def temperature(handle, sensor):
        assert (handle, sensor) == ("handle", "sensor")
        return current[0][1]

    def bits(handle):
        # The first that is read.
        current[:] = [remaining.pop(0) if len(remaining) > 1 else remaining[0]]
        return current[0][2]

    def by_uuid(uuid):
        return "handle" if uuid == UUID else refuse()

    library = {
        "NVML_CLOCK_SM": "sm",
        "NVML_TEMPERATURE_GPU": "sensor",
        "NVMLError": NVMLError,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: "handle",
        "nvmlDeviceGetHandleByUUID": by_uuid,
        "nvmlDeviceGetCurrentClocksEventReasons": bits,
        "nvmlDeviceGetClockInfo": clock,
        "nvmlDeviceGetTemperature": temperature,
    }
    return SimpleNamespace(**library | functions)
