"""Convolutional networks: ResNet-18 and a U-Net."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from opperf.models.weights import Extents, Residual, levels, residual_blocks


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """Returns a convolution whose outputs are as many as its inputs over the stride."""
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class ResidualBlock(nn.Module):
    """Two convolutions, added to their inputs."""

    def __init__(self, block: Residual) -> None:
        super().__init__()
        self.conv1 = convolution(block.inputs, block.outputs, 3, block.stride)
        self.norm1 = nn.BatchNorm2d(block.outputs)
        self.conv2 = convolution(block.outputs, block.outputs, 3)
        self.norm2 = nn.BatchNorm2d(block.outputs)
        self.shortcut: nn.Conv2d | None = None
        if block.has_projection:
            self.shortcut = convolution(block.inputs, block.outputs, 1, block.stride)
            self.shortcut_norm = nn.BatchNorm2d(block.outputs)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.shortcut is not None:
            x = self.shortcut_norm(self.shortcut(x))
        return functional.relu(y + x)


class ResNet18(nn.Module):
    """A classifier of images."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        width = extents["width"]
        self.stem = convolution(3, width, 7, stride=2)
        self.stem_norm = nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(*map(ResidualBlock, residual_blocks(width)))
        self.head = nn.Linear(8 * width, extents["classes"])

    def forward(self, images: Tensor) -> Tensor:
        x = functional.relu(self.stem_norm(self.stem(images)))
        x = functional.max_pool2d(x, 3, stride=2, padding=1)
        x = self.blocks(x)
        classes: Tensor = self.head(x.mean(dim=(2, 3)))
        return classes


class TwoConvolutions(nn.Module):
    """The convolutions of a level of a U-Net."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, outputs, 3)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = convolution(outputs, outputs, 3)
        self.norm2 = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(x)))


class Up(nn.Module):
    """A level on the way up: twice as many pixels, joined with those of the way down."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.upsample = nn.ConvTranspose2d(2 * outputs, outputs, 2, stride=2)
        self.merge = TwoConvolutions(2 * outputs, outputs)

    def forward(self, x: Tensor, skipped: Tensor) -> Tensor:
        merged: Tensor = self.merge(torch.cat([skipped, self.upsample(x)], dim=1))
        return merged


class UNet(nn.Module):
    """A classifier of pixels."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        channels = levels(extents)
        pairs = zip([3, *channels], channels, strict=False)
        self.down = nn.ModuleList(TwoConvolutions(inputs, outputs) for inputs, outputs in pairs)
        self.up = nn.ModuleList(map(Up, reversed(channels[:-1])))
        self.head = nn.Conv2d(channels[0], extents["classes"], 1)

    def forward(self, images: Tensor) -> Tensor:
        x = self.down[0](images)
        skipped = []
        for down in self.down[1:]:
            skipped.append(x)
            x = down(functional.max_pool2d(x, 2))
        for up in self.up:
            x = up(x, skipped.pop())
        pixels: Tensor = self.head(x)
        return pixels
