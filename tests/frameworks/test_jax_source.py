"""Scripts of JAX's cases."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402  (jax may be missing)
from opperf.frameworks.fill import seed_at  # noqa: E402
from opperf.model import Case, Fill, OperatorTarget, Settings, TensorSpec  # noqa: E402

MATRIX = TensorSpec((3, 3), "float32", fill=Fill("uniform", 0.5, 1.0), gradient=True)


@pytest.mark.parametrize("mode", ["jit", "eager"])
@pytest.mark.parametrize(
    "name, arguments",
    [
        ("jnp.multiply", {"x": MATRIX, "y": MATRIX}),
        # The second result is no array.
        ("scipy.linalg.cho_factor", {"a": MATRIX}),
        # Its head gradient is complex.
        ("jnp.fft.rfft", {"a": MATRIX}),
    ],
)
def test_gradients_of_a_script_are_those_that_are_measured(name, arguments, mode):
    framework = load("jax")
    settings = Settings(device="cpu(0)", mode=mode, dtype="float32")
    case = Case(OperatorTarget("jax", name), arguments, settings, ("forward", "backward"), "test")
    made = {
        argument: framework.tensor(spec, "cpu(0)", seed_at(settings.seed, argument))
        for argument, spec in arguments.items()
    }
    with framework.scope(case):
        call = framework.bind(case, made)
        measured = framework.gradients.gradient(case, call, list(made.values()))
        measured.record()
        expected = measured.read(measured.backward())
        script = framework.recordings.source(case, made, call)
    names = {}
    exec(compile(script, "script", "exec"), names)
    for own, scripted in zip(expected, names["gradients_of_inputs"], strict=True):
        assert np.any(own)
        np.testing.assert_allclose(scripted, own, rtol=1e-4, atol=1e-6)
