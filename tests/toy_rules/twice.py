"""An operator of a user's own with PyTorch, and the rule for its inputs."""

import torch

from opperf.rules.configurations import WHY
from opperf.rules.torch import FAMILIES
from opperf.rules.values import tensor

LIBRARY = torch.library.Library("toylib", "DEF")
LIBRARY.define("twice(Tensor x, float by) -> Tensor")
LIBRARY.impl("twice", lambda x, by: x * by, "CompositeImplicitAutograd")


@FAMILIES.add("toylib::twice")
def twice(operator, size):
    """A hidden state of BERT."""
    yield {"x": tensor(size.batch, 768), "by": 2.0}
    yield {"x": tensor(3, 5), "by": 0.5, WHY: "A small matrix of odd extents"}
