"""Sparse tensors as models have them. Text is a matrix of compressed rows, a document each; what an
embedding of words gets as its gradient has few of its rows."""

from __future__ import annotations

import msgspec

from opperf.model import Fill, TensorSpec
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, sparse

CSR, ROWS, DENSE = "csr", "row_sparse", "dense"

INDEX = "int64"
"""Dtype of indices of rows: others would be cast to it first."""

OF_TEXT = 0.01
"""Share of a vocabulary of ten thousand words that a document has."""
OF_ADVERTISING = 0.001
"""Share of the features of a click that are set: ten of ten thousand."""
OF_BATCH = 0.02
"""Share of an embedding's rows that a mini-batch uses: a thousand words of fifty thousand."""
WHOLE = 1.0
"""Of row-sparse weights all rows are stored, as the updates require."""

WIDTH = 128
"""Width of an embedding, and of the first layer of a model of text."""


DOCUMENTS = 1024
FEW_DOCUMENTS = 256
"""Documents of a batch whose result is dense, and has a hundred times as many elements as are
stored."""

CLASSES = 16
"""Rows of a dense matrix by which text is multiplied from the left."""


def text_shape(size: Preset, documents: int = DOCUMENTS) -> Shape:
    """Documents by words."""
    return (size.extent(documents), size.extent(10000))


def table_shape(size: Preset) -> Shape:
    """The words of an embedding by their features."""
    return (size.extent(50000), WIDTH)


def text(
    size: Preset, fill: Fill = NORMAL, density: float = OF_TEXT, documents: int = DOCUMENTS
) -> TensorSpec:
    """A batch of bags of words in compressed rows, which are data and take no gradient."""
    shape = text_shape(size, documents)
    return sparse(CSR, *shape, fill=fill, density=density, gradient=False)


def few_texts(size: Preset, fill: Fill = NORMAL) -> TensorSpec:
    """As `text`, for a result that is dense."""
    return text(size, fill, documents=FEW_DOCUMENTS)


def rows(size: Preset, fill: Fill = NORMAL) -> TensorSpec:
    """Some of the rows of an embedding."""
    return sparse(ROWS, *table_shape(size), fill=fill, density=OF_BATCH, gradient=False)


MAKERS = {CSR: text, ROWS: rows}
OF_DENSE_RESULT = {CSR: few_texts, ROWS: rows}

WHYS = {
    CSR: "a batch of bags of words, in compressed rows",
    ROWS: "the rows of an embedding that a batch uses",
}


NONE, OWN = "none", ""
"""Stand for no gradient, and for one of the tensor's own layout, where others are a layout's name.
A gradient of a sparse tensor is measured where MXNet has a kernel for it: it computes any other one
of tensors that it makes dense first, which tells nothing of the operator."""


def differentiated(spec: TensorSpec, layout: str) -> TensorSpec:
    """The tensor with a gradient of a layout, or with none."""
    own = "" if layout in (NONE, OWN) else layout
    return msgspec.structs.replace(spec, gradient=layout != NONE, gradient_layout=own)
