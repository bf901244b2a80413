"""Parts of MXNet that a call may leave changed for all later calls of the process."""

from __future__ import annotations

import mxnet as mx

from opperf.frameworks.process_parts import ProcessPart

PARTS = (
    ProcessPart(
        "MXNet's NumPy shapes turned on or off",
        mx.util.is_np_shape,
        mx.util.set_np_shape,
        is_set_up=True,
    ),
    ProcessPart(
        "MXNet's recording of gradients turned on or off",
        mx.autograd.is_recording,
        mx.autograd.set_recording,
        is_set_up=True,
    ),
    ProcessPart(
        "MXNet's mode of training changed",
        mx.autograd.is_training,
        mx.autograd.set_training,
        is_set_up=True,
    ),
)
