"""Operators that recordings of earlier versions of PyTorch name and this one has not: under another
name, or no longer."""

from __future__ import annotations

from collections.abc import Mapping

FORMER: Mapping[str, str] = {"sum.SymInt": "sum.dim_IntList"}
"""Overloads by their former names."""

MERGED = "SymInt"
"""Name of overloads with symbolic sizes, which PyTorch 2.0 merged into those with plain ones."""

UPSAMPLED = ("linear1d", "nearest1d", "nearest2d", "nearest3d", "bilinear2d", "bicubic2d")
"""Kinds of `upsample` whose derivative had an overload with factors; `trilinear3d` beside them."""

REMOVED: Mapping[str, str] = {
    "col2im_backward": "it was removed, and autograd calls im2col in its place",
    "im2col_backward": "it was removed, and autograd calls col2im in its place",
    **{
        f"upsample_{kind}_backward.vec": (
            f"it was removed, and autograd calls upsample_{kind}_backward with sizes in its place"
        )
        for kind in (*UPSAMPLED, "trilinear3d")
    },
}
"""Why there is no such operator any more."""

SUCCESSORS: Mapping[str, str] = {
    "_cat": "cat",
    "_stack": "stack",
    "btrifact": "linalg_lu_factor",
    "btrisolve": "linalg_lu_solve",
    "eig": "linalg_eig",
    "fft": "fft_fft",
    "gels": "linalg_lstsq",
    "gesv": "linalg_solve",
    "ifft": "fft_ifft",
    "irfft": "fft_irfft",
    "lstsq": "linalg_lstsq",
    "matrix_rank": "linalg_matrix_rank",
    "potrf": "cholesky",
    "potri": "cholesky_inverse",
    "potrs": "cholesky_solve",
    "pstrf": "linalg_cholesky",
    "rfft": "fft_rfft",
    "solve": "linalg_solve",
    "symeig": "linalg_eigh",
    "trtrs": "triangular_solve",
}
"""Operators that have taken the place of others, by the names of these. Source: the release notes
of PyTorch 0.4 to 2.0, and the errors of the functions that are left."""
