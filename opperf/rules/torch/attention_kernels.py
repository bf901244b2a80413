"""Inputs of PyTorch's kernels of attention: of the CPU's, and of CUDA's, in half precision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from opperf.model import Argument, Fill, Function, Mapping, Operator, TensorSpec
from opperf.rules.bert import HEADS, WIDTH, few_sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, Family, Rows
from opperf.rules.sizes import Preset
from opperf.rules.values import ZEROS, Arguments, between, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

HALF = "bfloat16"
BLOCK = 32
"""Queries to which the memory-efficient kernel pads what it saves for its gradient."""
CAUSAL_MASK = 1
"""The memory-efficient kernel's number of the mask that hides later tokens; 0 is none."""


class Layer(NamedTuple):
    """A layer of attention, whose tokens attend to those of their own text."""

    why: str
    batch: int
    heads: int
    length: int
    width: int
    causal: bool

    def heads_first(self, dtype: str = HALF) -> TensorSpec:
        """Vectors of each head, as `scaled_dot_product_attention` takes them."""
        return tensor(self.batch, self.heads, self.length, self.width, dtype=dtype)

    def tokens_first(self, dtype: str = HALF) -> TensorSpec:
        """Vectors of each token, as the kernels below it take them."""
        return tensor(self.batch, self.length, self.heads, self.width, dtype=dtype)

    @property
    def outputs(self) -> Fill:
        """Fill of the forward pass's output: means of `length` vectors, by weights whose squares
        sum to `e / length`, as those of normal scores do."""
        return Fill("normal", 0.0, min(1.0, math.sqrt(math.e / self.length)))

    @property
    def sums(self) -> Fill:
        """The logarithms of the sums that the forward pass saves. Scores are normal, so that their
        exponentials are of mean `exp(1/2)`; of a causal layer, the shortest sum is of one."""
        most = math.log(self.length) + 0.5
        return between(most / 2 if self.causal else most - 0.2, most + 0.2)


def layers(size: Preset) -> Iterable[Layer]:
    """Layers that encode and that generate text, in training."""
    batch, length = tokens(size)
    long = size.extent(1024, least=32)
    yield Layer("BERT-base, sentences of 128 tokens", batch, HEADS, length, WIDTH, False)
    yield Layer("GPT-2, one text of 1024 tokens, causal", 1, HEADS, long, WIDTH, True)


def long_layers(size: Preset) -> Iterable[Layer]:
    """Those, and a long text of a large model, as GPUs read it."""
    yield from layers(size)
    length = size.extent(2048, least=64)
    yield Layer("Llama 2 7B, one text of 2048 tokens, causal", 1, 32, length, 128, True)


RANDOM_STATE = fixed(2, fill=ZEROS, dtype="uint64")
"""State of the generator of dropout, of which there is none."""
UNUSED = fixed(fill=ZEROS, dtype="uint64")
SEED = fixed(fill=ZEROS, dtype="int64")
THREE = ("query", "key", "value")

Options = Callable[[Layer], dict[str, Argument]]
"""Arguments of a kernel beside queries, keys and values."""
Layers = Callable[[Preset], Iterable[Layer]]


def forward(first: Callable[..., TensorSpec], options: Options) -> Variants:
    """The configurations of a forward kernel; `first` is the order of axes that it takes."""
    return lambda size: [
        {**dict.fromkeys(THREE, first(layer)), **options(layer), WHY: layer.why}
        for layer in long_layers(size)
    ]


def gradient(
    name: str,
    first: Callable[..., TensorSpec],
    sums: Callable[[Layer], TensorSpec],
    options: Options,
    of: Layers = long_layers,
    dtype: str = HALF,
) -> Variants:
    """The configurations of a backward kernel, by its gradient's name; `sums` are saved before."""

    def made(layer: Layer) -> Arguments:
        plain = fixed(*first(layer).shape, dtype=dtype)
        return {
            **dict.fromkeys((name, *THREE), plain),
            "out": fixed(*plain.shape, dtype=dtype, fill=layer.outputs),
            "logsumexp": sums(layer),
            **options(layer),
            WHY: layer.why,
        }

    return lambda size: [made(layer) for layer in of(size)]


def sums_of(*further: int, block: int = 1, dtype: str = "float32") -> Callable[[Layer], TensorSpec]:
    """A number of each query, padded to whole blocks of them; `further` are axes that follow."""

    def made(layer: Layer) -> TensorSpec:
        length = block * math.ceil(layer.length / block)
        return fixed(layer.batch, layer.heads, length, *further, fill=layer.sums, dtype=dtype)

    return made


def of_flash(layer: Layer) -> dict[str, Argument]:
    """No dropout, and the layer's mask."""
    return {"dropout_p": 0.0, "is_causal": layer.causal}


def lengths(layer: Layer) -> dict[str, Argument]:
    """No limits of texts in a batch, as all are of one length; the layer's mask."""
    extents = {"max_q": layer.length, "max_k": layer.length}
    return {"cum_seq_q": None, "cum_seq_k": None, **extents, **of_flash(layer)}


def lengths_of_efficient(layer: Layer) -> dict[str, Argument]:
    """Neither dropout, a bias nor limits of texts in a batch; the layer's mask by number."""
    return {
        **dict.fromkeys(("bias", "cu_seqlens_q", "cu_seqlens_k"), None),
        **dict.fromkeys(("max_seqlen_q", "max_seqlen_k"), layer.length),
        "dropout_p": 0.0,
        "custom_mask_type": CAUSAL_MASK if layer.causal else 0,
    }


OFFSETS: dict[str, Argument] = {"philox_seed": SEED, "philox_offset": SEED}


def packed(limits: str, extents: str, *outer: int, **options: Argument) -> Variants:
    """The call of a kernel that attention of jagged tensors makes: texts of different lengths one
    after the other. `limits` and `extents` begin the names of where each text begins and the last
    one ends, and of the most tokens of one; `outer` are axes before the tokens."""

    def made(size: Preset) -> Rows:
        samples, length, _ = few_sentences(size)
        # Sentences fill from half to the whole of the longest length.
        each = [max(1, length * (samples + i) // (2 * samples)) for i in range(1, samples + 1)]
        ends = [0, *itertools.accumulate(each)]
        begins = fixed(samples + 1, fill=literal(ends), dtype="int32")
        return {
            "BERT-base, sentences of different lengths without padding": {
                **dict.fromkeys(THREE, tensor(*outer, ends[-1], HEADS, WIDTH, dtype=HALF)),
                **dict.fromkeys((f"{limits}_q", f"{limits}_k"), begins),
                **dict.fromkeys((f"{extents}_q", f"{extents}_k"), max(each)),
                **{"dropout_p": 0.0, **options},
            }
        }

    return made


KEPT: dict[str, Argument] = {"attn_bias": None, "compute_log_sumexp": True}
"""No bias, and what a backward pass needs is returned."""

VARIANTS: dict[str, Variants] = {
    "_scaled_dot_product_flash_attention_for_cpu_backward": gradient(
        "grad_out", Layer.heads_first, sums_of(dtype="single"), of_flash, layers, dtype=""
    ),
    "_scaled_dot_product_attention_math": lambda size: [
        {**dict.fromkeys(THREE, layer.heads_first("")), "is_causal": layer.causal, WHY: layer.why}
        for layer in layers(size)
    ],
    "_scaled_dot_product_flash_attention.default": forward(Layer.heads_first, of_flash),
    "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention": forward(
        Layer.heads_first, lambda layer: {**KEPT, **of_flash(layer)}
    ),
    "_flash_attention_forward.default": forward(
        Layer.tokens_first, lambda layer: {**lengths(layer), "return_debug_mask": False}
    ),
    "_efficient_attention_forward": forward(
        Layer.tokens_first,
        lambda layer: {**lengths_of_efficient(layer), "compute_log_sumexp": True},
    ),
    "_scaled_dot_product_flash_attention_backward": gradient(
        "grad_out",
        Layer.heads_first,
        sums_of(),
        lambda layer: {**lengths(layer), **{"philox_seed": RANDOM_STATE, "philox_offset": UNUSED}},
    ),
    "_scaled_dot_product_efficient_attention_backward": gradient(
        "grad_out_",
        Layer.heads_first,
        sums_of(block=BLOCK),
        lambda layer: {
            **{"attn_bias": None, "grad_input_mask": (True, True, True, False)},
            **OFFSETS,
            **of_flash(layer),
        },
    ),
    "_scaled_dot_product_cudnn_attention_backward": gradient(
        "grad_out",
        Layer.heads_first,
        sums_of(1),
        lambda layer: {**OFFSETS, "attn_bias": None, **lengths(layer)},
    ),
    "_flash_attention_backward": gradient(
        "grad_out",
        Layer.tokens_first,
        sums_of(),
        lambda layer: {**lengths(layer), "rng_state": RANDOM_STATE, "unused": UNUSED},
    ),
    "_efficient_attention_backward": gradient(
        "grad_out_",
        Layer.tokens_first,
        sums_of(block=BLOCK),
        lambda layer: {**lengths_of_efficient(layer), **OFFSETS, "bias_requires_grad": False},
    ),
}
add_rows(FAMILIES.add, VARIANTS)

FURTHER: dict[str, Variants] = {
    "_flash_attention_forward.default": packed(
        "cum_seq", "max", is_causal=False, return_debug_mask=False
    ),
    "_efficient_attention_forward": packed(
        *("cu_seqlens", "max_seqlen", 1), bias=None, custom_mask_type=0, compute_log_sumexp=True
    ),
}
add_rows(FAMILIES.also, FURTHER)

BODIES = "opperf.frameworks.torch.bodies"
"""Module of opperf's own functions that PyTorch's take. Planning must not import it."""

MASKS = {
    "causal": "causal",
    "sliding": "a sliding window of 256 tokens",
    "documents": "texts of 128 tokens side by side, each causal",
}
SCORES = {"alibi": "by ALiBi's distances", "capped": "by capped scores, as Gemma 2 has"}
SHARED_HEADS = 4
"""Heads of keys to twelve of queries."""


def flexible(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Attention by scores as they are, by those of a mask of blocks, and by changed ones."""
    for layer in layers(size):
        why = layer.why.removesuffix(", causal")
        made: Arguments = dict.fromkeys(THREE, layer.heads_first(""))
        yield {**made, WHY: why}
        if not layer.causal:
            continue
        extents: dict[str, Argument] = {"Q_LEN": layer.length, "KV_LEN": layer.length}
        blocks = {
            body: Mapping({"mask_mod": Function(f"{BODIES}.{body}"), **extents}) for body in MASKS
        }
        for body, words in MASKS.items():
            yield {**made, "block_mask": blocks[body], WHY: f"{why}, {words}"}
        for body, words in SCORES.items():
            yield {**made, "score_mod": Function(f"{BODIES}.{body}"), WHY: f"{why}, {words}"}
        shared = layer._replace(heads=SHARED_HEADS).heads_first("")
        yield {
            **{**made, "key": shared, "value": shared, "enable_gqa": True},
            "block_mask": blocks["causal"],
            WHY: f"as {why}, causal, three heads of queries to one of keys",
        }


FUNCTIONS: dict[str, Family | str] = {"nn.attention.flex_attention.flex_attention": flexible}
