"""torchvision's models with random weights, and inputs as its references train them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from opperf.frameworks.models import Model
from opperf.models.base import SIZES, Options, SuiteModel, batch_of
from opperf.models.packages import BATCHES, check_name, check_size, first_sentence, import_package
from opperf.models.torch.build import Draws, class_loss

SUITE = "torchvision"


@dataclass(frozen=True)
class Instance:
    """Facts about a model on which its inputs depend."""

    batch: int
    pixels: int
    """Rows, and columns, of an image."""
    frames: int
    classes: int
    outlines: str
    """Part of the targets besides boxes: `masks`, `keypoints`, or nothing."""
    draws: Draws


@dataclass(frozen=True)
class Kind:
    """Models of one task."""

    tags: tuple[str, ...]
    inputs: Callable[[Instance], Sequence[Any]]
    targets: Callable[[Instance], Sequence[Any]]
    loss: Callable[..., Tensor]
    batches: Mapping[str, int]
    phases: tuple[str, ...] = ("predict", "train")
    takes_targets: bool = False
    """Whether a model that trains takes the targets as inputs, and returns losses."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of the function that builds it."""


def _images(instance: Instance) -> Sequence[Any]:
    return [instance.draws.normal(instance.batch, 3, instance.pixels, instance.pixels)]


def _labels(instance: Instance) -> Sequence[Any]:
    return [instance.draws.below(instance.classes, instance.batch)]


def _pixel_labels(instance: Instance) -> Sequence[Any]:
    shape = (instance.batch, instance.pixels, instance.pixels)
    return [instance.draws.below(instance.classes, *shape)]


def _clips(instance: Instance) -> Sequence[Any]:
    pixels = instance.pixels
    return [instance.draws.normal(instance.batch, 3, instance.frames, pixels, pixels)]


PHOTO = (480, 640)
"""Rows and columns of most images of COCO."""

OBJECTS = 7
"""Objects in an image of COCO, on average."""

KEYPOINTS = 17
"""Keypoints of a person in COCO."""


def _photos(instance: Instance) -> Sequence[Any]:
    return [[instance.draws.uniform(3, *PHOTO) for _ in range(instance.batch)]]


def _objects(instance: Instance) -> Sequence[Any]:
    return [[_objects_of_an_image(instance) for _ in range(instance.batch)]]


def _objects_of_an_image(instance: Instance) -> dict[str, Tensor]:
    draws, (rows, columns) = instance.draws, PHOTO
    extent = torch.tensor([columns, rows])
    # From a corner in the upper left half, to one that is a tenth of the image away or more.
    corner = draws.uniform(OBJECTS, 2) * 0.5
    opposite = corner + 0.1 + draws.uniform(OBJECTS, 2) * 0.4
    target = {
        "boxes": torch.cat([corner * extent, opposite * extent], dim=1),
        # Class 0 is the background.
        "labels": 1 + draws.below(instance.classes - 1, OBJECTS),
    }
    if instance.outlines == "masks":
        target["masks"] = draws.below(2, OBJECTS, rows, columns).to(torch.uint8)
    if instance.outlines == "keypoints":
        place = (
            corner[:, None] + draws.uniform(OBJECTS, KEYPOINTS, 2) * (opposite - corner)[:, None]
        )
        visible = torch.ones(OBJECTS, KEYPOINTS, 1)
        target["keypoints"] = torch.cat([place * extent, visible], dim=2)
    return target


CROP = (368, 496)
"""Rows and columns of a crop of FlyingChairs, on which RAFT is trained first."""


def _pairs_of_frames(instance: Instance) -> Sequence[Any]:
    return [instance.draws.uniform(instance.batch, 3, *CROP) * 2 - 1 for _ in range(2)]


def _flow(instance: Instance) -> Sequence[Any]:
    return [instance.draws.normal(instance.batch, 2, *CROP)]


DECAY = 0.8
"""Factor by which the loss of RAFT weighs each estimate less than the next one (Teed and Deng
2020)."""


def _flow_loss(estimates: Sequence[Tensor], flow: Tensor) -> Tensor:
    losses = [(estimate - flow).abs().mean() for estimate in estimates]
    weights = [DECAY**number for number in reversed(range(len(losses)))]
    return torch.stack(losses) @ torch.tensor(weights, dtype=flow.dtype, device=flow.device)


def _sum_of_losses(losses: Mapping[str, Tensor]) -> Tensor:
    return torch.stack([*losses.values()]).sum()


CLASSIFICATION = Kind(("vision", "classification"), _images, _labels, class_loss, BATCHES)

KINDS = {
    "detection": Kind(
        ("vision", "detection"),
        _photos,
        _objects,
        _sum_of_losses,
        {"small": 1, "default": 2, "large": 8},
        takes_targets=True,
    ),
    "optical_flow": Kind(
        ("vision", "optical-flow"),
        _pairs_of_frames,
        _flow,
        _flow_loss,
        {"small": 1, "default": 2, "large": 6},
    ),
    # Quantised after training, which is for predictions alone.
    "quantization": Kind(
        ("vision", "classification", "quantized"),
        _images,
        _labels,
        class_loss,
        BATCHES,
        phases=("predict",),
        arguments={"quantize": True},
    ),
    "segmentation": Kind(
        ("vision", "segmentation"),
        _images,
        _pixel_labels,
        class_loss,
        {"small": 2, "default": 4, "large": 16},
    ),
    "video": Kind(
        ("vision", "video"), _clips, _labels, class_loss, {"small": 1, "default": 4, "large": 16}
    ),
}
"""Kinds by the folder of torchvision's models that has them; the others classify."""

WITHOUT_WEIGHTS = ("weights", "weights_backbone")
"""Arguments that would otherwise download weights."""

INITIALISED = ("googlenet", "inception_v3")
"""Builders that warn unless the argument `init_weights` says whether weights are drawn."""

FRAMES = 16
"""Frames of a clip, where the weights do not say how many they need: as for Kinetics-400."""

PIXELS = 224


def models(folder: str) -> Sequence[SuiteModel]:
    """Returns all of torchvision's models. Raises `ImportError`."""
    vision = _vision()
    return [_listed(vision, name) for name in sorted(vision.list_models())]


def _vision() -> Any:
    return import_package("torchvision", beside=["torch"]).models


def _kind(builder: Any) -> Kind:
    # Such as `torchvision.models.detection.faster_rcnn`, or `torchvision.models.resnet`.
    folder = builder.__module__.split(".")[-2]
    return KINDS.get(folder, CLASSIFICATION)


def _listed(vision: Any, name: str) -> SuiteModel:
    builder = vision.get_model_builder(name)
    kind = _kind(builder)
    why = first_sentence(builder, f"torchvision's {name}")
    return SuiteModel(name, sizes=SIZES, phases=kind.phases, tags=kind.tags, why=why)


def build(name: str, options: Options) -> Model:
    """Returns a model with its inputs. Raises `ImportError` and `UsageError`."""
    vision = _vision()
    check_name(SUITE, name, vision.list_models())
    check_size(SUITE, name, options.size, SIZES)
    builder = vision.get_model_builder(name)
    kind = _kind(builder)
    known = inspect.signature(builder).parameters
    arguments: dict[str, Any] = {word: None for word in WITHOUT_WEIGHTS if word in known}
    if name in INITIALISED:
        arguments["init_weights"] = True
    batch = batch_of(options, kind.batches[options.size])
    torch.manual_seed(options.seed)
    module = builder(**arguments, **kind.arguments)
    instance = _instance(vision, name, module, batch, Draws(options.seed))
    inputs, targets = [*kind.inputs(instance)], [*kind.targets(instance)]
    if kind.takes_targets:
        inputs, targets = inputs + (targets if options.phase == "train" else []), []
    return Model(
        call=module,
        inputs=inputs,
        loss=kind.loss,
        optimizer=partial(torch.optim.SGD, lr=0.01, momentum=0.9),
        targets=targets,
    )


def _instance(vision: Any, name: str, module: Any, batch: int, draws: Draws) -> Instance:
    """Returns what the inputs depend on: the images, clips and classes that a model's first
    published weights are for; a vision transformer has a size of its own."""
    weights = next(iter(vision.get_model_weights(name)))
    transforms = weights.transforms()
    found = [getattr(transforms, name, None) for name in ("crop_size", "resize_size")]
    sides = next(filter(None, found), (PIXELS,))
    outlines = [word for word in ("mask", "keypoint") if name.startswith(word)]
    return Instance(
        batch=batch,
        pixels=getattr(module, "image_size", sides[-1]),
        frames=weights.meta.get("min_temporal_size", FRAMES),
        classes=len(weights.meta.get("categories", ())),
        outlines=f"{outlines[0]}s" if outlines else "",
        draws=draws,
    )
