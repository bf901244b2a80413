"""Functions that cases pass to PyTorch's, such as FlexAttention's, and what is built of them. Each
stands alone and names nothing but `torch`, as scripts have its source."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch

from opperf.frameworks import paths

PATH = __name__
"""Beginning of the paths by which cases name these functions."""


def causal(batch: Any, head: Any, query: Any, key: Any) -> Any:
    """Whether a token sees another: itself and those before it."""
    return query >= key


def sliding(batch: Any, head: Any, query: Any, key: Any) -> Any:
    """Whether a token sees another: itself and the 255 before it."""
    return (query >= key) & (query - key < 256)


def documents(batch: Any, head: Any, query: Any, key: Any) -> Any:
    """Whether a token sees another: itself and those before it in its text, of 128 tokens each."""
    return (query >= key) & (query // 128 == key // 128)


def capped(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
    """A score that is below 50, as Gemma 2 has it."""
    return 50 * torch.tanh(score / 50)


def alibi(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
    """A score less the distance of its tokens, by a slope for each of 12 heads."""
    return score + (key - query) * torch.exp2(-8 * (head + 1) / 12)


def function_at(path: str) -> Callable[..., Any]:
    """Returns one of these functions by its dotted path. Raises `UnknownOperatorError`."""
    module, _, name = path.rpartition(".")
    roots = {"bodies": sys.modules[PATH]} if module == PATH else {}
    return paths.find(f"bodies.{name}", "opperf", roots)


def build(named: dict[str, Any], device: torch.device) -> None:
    """Replaces, among arguments by name, the mapping that PyTorch has a type of its own for."""
    mask = named.get("block_mask")
    if isinstance(mask, dict):
        from torch.nn.attention.flex_attention import create_block_mask

        named["block_mask"] = create_block_mask(B=None, H=None, device=device, **mask)


def source_of(value: Any) -> str | None:
    """Returns the expression of one of these functions, or of what is built of one; else None."""
    if getattr(value, "__module__", None) == PATH:
        return str(value.__name__)
    if type(value).__name__ == "BlockMask":
        queries, keys = value.seq_lengths
        made = "torch.nn.attention.flex_attention.create_block_mask"
        return (
            f"{made}({source_of(value.mask_mod)}, None, None, {queries}, {keys}, "
            f"device={str(value.kv_indices.device)!r})"
        )
    return None


def definitions(values: Any) -> list[str]:
    """Returns the source of these functions among a call's arguments, each once."""
    taken = (getattr(value, "mask_mod", value) for value in values)
    own = [value for value in taken if getattr(value, "__module__", None) == PATH]
    return [inspect.getsource(body) for body in dict.fromkeys(own)]
