"""Models of Hugging Face's transformers with random weights, built from their configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from opperf.errors import UnsupportedError
from opperf.frameworks.installed import package_version
from opperf.frameworks.models import Model
from opperf.models.base import SIZES, Options, SuiteModel, batch_of
from opperf.models.packages import check_name, check_size, import_package
from opperf.models.torch.build import Draws
from opperf.models.torch.transformers_table import TABLE, Row

SUITE = "transformers"

RATE = 5e-5
"""Learning rate of transformers' own trainer, which uses AdamW."""


@dataclass(frozen=True)
class Request:
    """Facts on which the inputs of a model depend."""

    row: Row
    configuration: Any
    batch: int
    trains: bool
    draws: Draws

    @property
    def shape(self) -> tuple[int, int]:
        """Sequences, and tokens of each."""
        return self.batch, self.row.length

    def tokens(self, configuration: Any = None) -> Tensor:
        """Returns token ids. The first ones of a vocabulary are left to what pads and separates."""
        vocabulary = (configuration or self.configuration).vocab_size
        return SPECIAL + self.draws.below(vocabulary - SPECIAL, *self.shape)

    def images(self) -> Tensor:
        """Returns normalised images."""
        return self.draws.normal(self.batch, 3, self.row.pixels, self.row.pixels)


SPECIAL = 4
"""Ids at the beginning of most vocabularies that are no words: padding, and the ends of texts."""

FRAMES = 3000
"""Frames of 10 ms in Whisper's 30 s."""

Inputs = dict[str, Any]


def _with_labels(request: Request, inputs: Inputs, labels: Callable[[], Tensor]) -> Inputs:
    """Returns the inputs; to train, with labels, of which the model makes its own loss."""
    return {**inputs, "labels": labels()} if request.trains else inputs


def _masked(request: Request) -> Inputs:
    tokens = {"input_ids": request.tokens(), "attention_mask": _all_of(request)}
    return _with_labels(request, tokens, request.tokens)


def _all_of(request: Request) -> Tensor:
    return torch.ones(request.shape, dtype=torch.int64)


def _tokens(request: Request) -> Inputs:
    tokens = {"input_ids": request.tokens(), "attention_mask": _all_of(request)}
    return _with_labels(request, tokens, lambda: request.draws.below(2, *request.shape))


def _causal(request: Request) -> Inputs:
    tokens = request.tokens()
    return _with_labels(request, {"input_ids": tokens}, lambda: tokens)


def _decoded(request: Request) -> Inputs:
    """Returns the decoder's tokens, which the model makes of the labels itself."""
    return {"labels" if request.trains else "decoder_input_ids": request.tokens()}


def _images(request: Request) -> Inputs:
    classes = request.configuration.num_labels
    return _with_labels(
        request,
        {"pixel_values": request.images()},
        lambda: request.draws.below(classes, request.batch),
    )


def _pixels(request: Request) -> Inputs:
    shape = (request.batch, request.row.pixels, request.row.pixels)
    classes = request.configuration.num_labels
    return _with_labels(
        request, {"pixel_values": request.images()}, lambda: request.draws.below(classes, *shape)
    )


def _text_and_images(request: Request) -> Inputs:
    inputs = {
        "input_ids": request.tokens(request.configuration.text_config),
        "attention_mask": _all_of(request),
        "pixel_values": request.images(),
    }
    return {**inputs, "return_loss": True} if request.trains else inputs


LETTERS = 20
"""Letters of a spoken phrase of two seconds."""


def _sound(request: Request) -> Inputs:
    samples = request.draws.normal(*request.shape)
    # Id 0 is the blank of the loss.
    letters = request.configuration.vocab_size - 1
    return _with_labels(
        request,
        {"input_values": samples},
        lambda: 1 + request.draws.below(letters, request.batch, LETTERS),
    )


def _spectrogram(request: Request) -> Inputs:
    bands = request.configuration.num_mel_bins
    return {
        "input_features": request.draws.normal(request.batch, bands, FRAMES),
        **_decoded(request),
    }


INPUTS: Mapping[str, Callable[[Request], Inputs]] = {
    "causal": _causal,
    "images": _images,
    "masked": _masked,
    "pixels": _pixels,
    "seq2seq": lambda request: {"input_ids": request.tokens(), **_decoded(request)},
    "sound": _sound,
    "spectrogram": _spectrogram,
    "text-image": _text_and_images,
    "tokens": _tokens,
}
"""Functions that draw a model's inputs, by the name that rows of the table have."""


def models(folder: str) -> Sequence[SuiteModel]:
    """Returns the models of the table. Raises `ImportError`."""
    _package()
    return [_listed(name, row) for name, row in TABLE.items()]


def _package() -> Any:
    return import_package(SUITE, beside=["torch"])


def _listed(name: str, row: Row) -> SuiteModel:
    sizes = tuple(size for size in SIZES if size in row.sizes)
    sources = "; ".join(f"{size}: {row.sizes[size].source}" for size in sizes)
    return SuiteModel(name, sizes=sizes, tags=(row.inputs,), why=f"{row.why}; {sources}")


def build(name: str, options: Options) -> Model:
    """Returns a model with its inputs. Raises `ImportError`, `UsageError`, and `UnsupportedError`
    where the installed version lacks the model."""
    check_name(SUITE, name, TABLE)
    row = TABLE[name]
    check_size(SUITE, name, options.size, row.sizes)
    size = row.sizes[options.size]
    package = _package()
    configuration = _class(package, row.configuration)(**{**row.common, **size.fields})
    torch.manual_seed(options.seed)
    module = _class(package, row.model)(configuration)
    batch = batch_of(options, size.batch)
    trains = options.phase == "train"
    request = Request(row, configuration, batch, trains, Draws(options.seed))
    return Model(
        call=module,
        inputs=INPUTS[row.inputs](request),
        optimizer=partial(torch.optim.AdamW, lr=RATE),
    )


def _class(package: Any, name: str) -> Any:
    found = getattr(package, name, None)
    if found is None:
        raise UnsupportedError(f"{SUITE} {package_version(SUITE)} has no {name}")
    return found
