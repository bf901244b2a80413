"""Models of PyTorch, as a user's file has them."""

import torch


class Net(torch.nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 4)
        )

    def forward(self, x):
        return self.layers(x)

    def example_inputs(self):
        return (torch.randn(3, 8),)


def make(batch_size=3):
    labels = torch.arange(batch_size) % 4
    return {
        "call": Net(),
        "inputs": {"x": torch.randn(batch_size, 8)},
        "loss": torch.nn.functional.cross_entropy,
        "targets": (labels,),
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.5),
    }


def without_inputs():
    return Net()
