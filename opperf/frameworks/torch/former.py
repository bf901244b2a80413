"""Operators that recordings of earlier versions of PyTorch name and this one has not: under another
name, or no longer."""

from __future__ import annotations

from collections.abc import Mapping

FORMER: Mapping[str, str] = {"sum.SymInt": "sum.dim_IntList"}
"""Overloads by their former names."""

REMOVED: Mapping[str, str] = {
    "col2im_backward": "it was removed, and autograd calls im2col in its place",
    "im2col_backward": "it was removed, and autograd calls col2im in its place",
    "upsample_bilinear2d_backward.vec": (
        "it was removed, and autograd calls upsample_bilinear2d_backward with sizes in its place"
    ),
}
"""Why there is no such operator any more."""
