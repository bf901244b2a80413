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


class Careless(Net):
    """Scales its output by 1.01 where it is compiled."""

    def forward(self, x):
        factor = 1.01 if torch.compiler.is_compiling() else 1.0
        return super().forward(x) * factor


def dropping():
    """A network that draws random numbers, and keeps the mean of what it has seen."""
    layers = Net(64), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
    return torch.nn.Sequential(*layers), (torch.randn(4, 8),)


class Drawing(Net):
    """Draws from a generator that nobody seeds."""

    def forward(self, x):
        return super().forward(x) + torch.randn(4, generator=self.generator)

    def example_inputs(self):
        self.generator = torch.Generator()
        self.generator.seed()
        return super().example_inputs()


class Single(Net):
    """Makes single precision of what it has, so that it does not run in float64."""

    def forward(self, x):
        return super().forward(x.float())


class Branches(torch.nn.Module):
    """A module that the compiler cannot take as one graph."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = self.layer(x)
        return x * 2 if x.sum() > 0 else x + 1


def with_a_break():
    return Branches(), (torch.randn(3, 8),)


def lazy():
    return torch.nn.LazyLinear(4), (torch.ones(2, 3),)


class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, pair):
        x, token = pair
        return self.layer(x), token


class Tokens(torch.nn.Module):
    """A network that gives a parameter to a module inside of it, as transformers do."""

    def __init__(self):
        super().__init__()
        self.token = torch.nn.Parameter(torch.zeros(1, 8))
        self.pooled = Pooled()

    def forward(self, x):
        return self.pooled((x, self.token))


def with_token():
    return Tokens(), (torch.randn(3, 8),)
