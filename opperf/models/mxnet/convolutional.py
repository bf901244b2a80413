"""Convolutional networks: ResNet-18 and a U-Net."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from opperf.models.weights import Extents, Residual, levels, residual_blocks


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2D:
    """Returns a convolution whose outputs are as many as its inputs over the stride."""
    padding = kernel // 2
    return nn.Conv2D(outputs, kernel, stride, padding, use_bias=False, in_channels=inputs)


class ResidualBlock(HybridBlock):
    """Two convolutions, added to their inputs."""

    def __init__(self, block: Residual) -> None:
        super().__init__()
        with self.name_scope():
            self.conv1 = convolution(block.inputs, block.outputs, 3, block.stride)
            self.norm1 = nn.BatchNorm(in_channels=block.outputs)
            self.conv2 = convolution(block.outputs, block.outputs, 3)
            self.norm2 = nn.BatchNorm(in_channels=block.outputs)
            self.has_projection = block.has_projection
            if block.has_projection:
                self.shortcut = convolution(block.inputs, block.outputs, 1, block.stride)
                self.shortcut_norm = nn.BatchNorm(in_channels=block.outputs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.has_projection:
            x = self.shortcut_norm(self.shortcut(x))
        return F.relu(x + y)


class ResNet18(HybridBlock):
    """A classifier of images."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            width = extents["width"]
            self.stem = convolution(3, width, 7, stride=2)
            self.stem_norm = nn.BatchNorm(in_channels=width)
            self.pool = nn.MaxPool2D(3, 2, 1)
            self.blocks = nn.HybridSequential()
            self.blocks.add(*map(ResidualBlock, residual_blocks(width)))
            self.mean = nn.GlobalAvgPool2D()
            self.head = nn.Dense(extents["classes"], in_units=8 * width)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        x = self.pool(F.relu(self.stem_norm(self.stem(images))))
        return self.head(self.mean(self.blocks(x)))


class TwoConvolutions(HybridBlock):
    """The convolutions of a level of a U-Net."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        with self.name_scope():
            self.conv1 = convolution(inputs, outputs, 3)
            self.norm1 = nn.BatchNorm(in_channels=outputs)
            self.conv2 = convolution(outputs, outputs, 3)
            self.norm2 = nn.BatchNorm(in_channels=outputs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x)))


class Up(HybridBlock):
    """A level on the way up: twice as many pixels, joined with those of the way down."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        with self.name_scope():
            self.upsample = nn.Conv2DTranspose(outputs, 2, 2, in_channels=2 * outputs)
            self.merge = TwoConvolutions(2 * outputs, outputs)

    def hybrid_forward(self, F: Any, x: Any, skipped: Any) -> Any:
        return self.merge(F.concat(skipped, self.upsample(x), dim=1))


class UNet(HybridBlock):
    """A classifier of pixels."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            channels = levels(extents)
            self.down = nn.HybridSequential()
            for inputs, outputs in zip([3, *channels], channels, strict=False):
                self.down.add(TwoConvolutions(inputs, outputs))
            self.pool = nn.MaxPool2D(2, 2)
            self.up = nn.HybridSequential()
            self.up.add(*map(Up, reversed(channels[:-1])))
            self.head = nn.Conv2D(extents["classes"], 1, in_channels=channels[0])

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        first, *others = self.down
        x = first(images)
        skipped = []
        for down in others:
            skipped.append(x)
            x = down(self.pool(x))
        for up in self.up:
            x = up(x, skipped.pop())
        return self.head(x)
