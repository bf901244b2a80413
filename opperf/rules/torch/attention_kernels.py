"""Inputs of PyTorch's kernels of attention and of their gradients: of the CPU's, and of CUDA's,
which take half precision alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from opperf.model import Argument, Fill, Function, Mapping, Operator, TensorSpec
from opperf.rules.bert import HEADS, WIDTH, few_sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, Family, listed
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

    def heads_first(self, dtype: str = "", fill: Fill | None = None) -> TensorSpec:
        """Vectors of each head, as `scaled_dot_product_attention` takes them."""
        shape = (self.batch, self.heads, self.length, self.width)
        return tensor(*shape, dtype=dtype, fill=fill or Fill())

    def tokens_first(self, fill: Fill | None = None) -> TensorSpec:
        """Vectors of each token, as the kernels below it take them."""
        shape = (self.batch, self.length, self.heads, self.width)
        return tensor(*shape, dtype=HALF, fill=fill or Fill())

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


def saved_on_cpu(size: Preset) -> Iterable[Arguments]:
    """The gradient of the CPU's kernel."""
    for layer in layers(size):
        plain = layer.heads_first()
        yield {
            "grad_out": fixed(*plain.shape),
            **dict.fromkeys(("query", "key", "value"), fixed(*plain.shape)),
            "out": fixed(*plain.shape, fill=layer.outputs),
            "logsumexp": fixed(*plain.shape[:-1], fill=layer.sums, dtype="single"),
            "dropout_p": 0.0,
            "is_causal": layer.causal,
            WHY: layer.why,
        }


def by_products(size: Preset) -> Iterable[Arguments]:
    """The decomposition into products and softmax, which returns the scores' softmax too."""
    for layer in layers(size):
        plain = layer.heads_first()
        yield {
            **dict.fromkeys(("query", "key", "value"), plain),
            "is_causal": layer.causal,
            WHY: layer.why,
        }


RANDOM_STATE = fixed(2, fill=ZEROS, dtype="uint64")
"""State of the generator of dropout, of which there is none."""
UNUSED = fixed(fill=ZEROS, dtype="uint64")
SEED = fixed(fill=ZEROS, dtype="int64")

Option = Callable[[Layer], dict[str, Argument]]
"""Arguments of a kernel beside queries, keys and values."""


def half_precision(options: Option, first: Callable[[Layer], TensorSpec]) -> Variants:
    """The configurations of a forward kernel; `first` is the order of axes that it takes."""

    def made(size: Preset) -> Iterator[Arguments]:
        for layer in long_layers(size):
            three = dict.fromkeys(("query", "key", "value"), first(layer))
            yield {**three, **options(layer), WHY: layer.why}

    return made


def gradient(
    gradient_name: str, sums: Callable[[Layer], TensorSpec], options: Option, tokens_first: bool
) -> Variants:
    """The configurations of a backward kernel; `sums` are what the forward pass saves."""

    def made(size: Preset) -> Iterator[Arguments]:
        for layer in long_layers(size):
            one = layer.tokens_first() if tokens_first else layer.heads_first(HALF)
            plain = fixed(*one.shape, dtype=HALF)
            yield {
                gradient_name: plain,
                **dict.fromkeys(("query", "key", "value"), plain),
                "out": fixed(*one.shape, dtype=HALF, fill=layer.outputs),
                "logsumexp": sums(layer),
                **options(layer),
                WHY: layer.why,
            }

    return made


def sums_of(*further: int) -> Callable[[Layer], TensorSpec]:
    """A number of each query, in single precision; `further` are axes that follow."""

    def made(layer: Layer) -> TensorSpec:
        shape = (layer.batch, layer.heads, layer.length, *further)
        return fixed(*shape, fill=layer.sums, dtype="float32")

    return made


def padded_sums(layer: Layer) -> TensorSpec:
    """A number of each query, padded to whole blocks of them."""
    length = BLOCK * math.ceil(layer.length / BLOCK)
    return fixed(layer.batch, layer.heads, length, fill=layer.sums, dtype="float32")


def heads_first(layer: Layer) -> TensorSpec:
    """Vectors of each head, in half precision."""
    return layer.heads_first(HALF)


def of_flash(layer: Layer) -> dict[str, Argument]:
    """No dropout, and the layer's mask."""
    return {"dropout_p": 0.0, "is_causal": layer.causal}


def lengths(layer: Layer) -> dict[str, Argument]:
    """No limits of texts in a batch, as all are of one length."""
    extents = {"max_q": layer.length, "max_k": layer.length}
    return {"cum_seq_q": None, "cum_seq_k": None, **extents}


def lengths_of_efficient(layer: Layer) -> dict[str, Argument]:
    """Neither a bias nor limits of texts in a batch."""
    none = dict.fromkeys(("bias", "cu_seqlens_q", "cu_seqlens_k"), None)
    return {**none, "max_seqlen_q": layer.length, "max_seqlen_k": layer.length}


def masked(layer: Layer) -> dict[str, Argument]:
    """No dropout, and the layer's mask by number."""
    return {"dropout_p": 0.0, "custom_mask_type": CAUSAL_MASK if layer.causal else 0}


OFFSETS: dict[str, Argument] = {"philox_seed": SEED, "philox_offset": SEED}


def packed(size: Preset) -> Iterable[Arguments]:
    """Texts of different lengths one after the other, without padding."""
    samples, length, _ = few_sentences(size)
    # Sentences fill from half to the whole of the longest length.
    each = [max(1, length * (samples + i) // (2 * samples)) for i in range(1, samples + 1)]
    ends = [sum(each[:i]) for i in range(samples + 1)]
    limits = fixed(samples + 1, fill=literal(ends), dtype="int32")
    yield {
        **dict.fromkeys(("query", "key", "value"), tensor(ends[-1], HEADS, WIDTH, dtype=HALF)),
        "cum_seq_q": limits,
        "cum_seq_k": limits,
        "max_q": max(each),
        "max_k": max(each),
        "dropout_p": 0.0,
        "is_causal": False,
        "return_debug_mask": False,
        WHY: "BERT-base, sentences of different lengths without padding",
    }


def flash_forward(size: Preset) -> Iterable[Arguments]:
    """Batches of one length, and texts one after the other."""
    dense = half_precision(
        lambda layer: {**lengths(layer), **of_flash(layer), "return_debug_mask": False},
        Layer.tokens_first,
    )
    yield from listed(dense(size))
    yield from packed(size)


KEPT: dict[str, Argument] = {"attn_bias": None, "compute_log_sumexp": True}
"""No bias, and what a backward pass needs is returned."""

VARIANTS: dict[str, Variants] = {
    "_scaled_dot_product_flash_attention_for_cpu_backward": saved_on_cpu,
    "_scaled_dot_product_attention_math": by_products,
    "_scaled_dot_product_flash_attention.default": half_precision(of_flash, heads_first),
    "_scaled_dot_product_efficient_attention": half_precision(
        lambda layer: {**KEPT, **of_flash(layer)}, heads_first
    ),
    "_scaled_dot_product_cudnn_attention": half_precision(
        lambda layer: {**KEPT, **of_flash(layer)}, heads_first
    ),
    "_flash_attention_forward.default": flash_forward,
    "_efficient_attention_forward": half_precision(
        lambda layer: {**lengths_of_efficient(layer), **masked(layer), "compute_log_sumexp": True},
        Layer.tokens_first,
    ),
    "_scaled_dot_product_flash_attention_backward": gradient(
        "grad_out",
        sums_of(),
        lambda layer: {
            **lengths(layer),
            **of_flash(layer),
            "philox_seed": RANDOM_STATE,
            "philox_offset": UNUSED,
        },
        tokens_first=False,
    ),
    "_scaled_dot_product_efficient_attention_backward": gradient(
        "grad_out_",
        padded_sums,
        lambda layer: {
            "attn_bias": None,
            **OFFSETS,
            **of_flash(layer),
            "grad_input_mask": (True, True, True, False),
        },
        tokens_first=False,
    ),
    "_scaled_dot_product_cudnn_attention_backward": gradient(
        "grad_out",
        sums_of(1),
        lambda layer: {**OFFSETS, "attn_bias": None, **lengths(layer), **of_flash(layer)},
        tokens_first=False,
    ),
    "_flash_attention_backward": gradient(
        "grad_out",
        sums_of(),
        lambda layer: {
            **lengths(layer),
            **of_flash(layer),
            "rng_state": RANDOM_STATE,
            "unused": UNUSED,
        },
        tokens_first=True,
    ),
    "_efficient_attention_backward": gradient(
        "grad_out_",
        padded_sums,
        lambda layer: {
            **lengths_of_efficient(layer),
            **OFFSETS,
            **masked(layer),
            "bias_requires_grad": False,
        },
        tokens_first=True,
    ),
}

add_rows(FAMILIES.add, VARIANTS)


BODIES = "opperf.frameworks.torch.bodies"
"""Module of opperf's own functions that PyTorch's take. Planning must not import it."""


MASKS = {
    "sliding": "a window of 256 tokens, as Mistral 7B has",
    "documents": "texts of 128 tokens side by side, each causal",
}
SCORES = {"alibi": "by ALiBi's distances", "capped": "by capped scores, as Gemma 2 has"}
SHARED_HEADS = 4
"""Heads of keys to twelve of queries."""


def flexible(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Attention by scores as they are, by those of a mask of blocks, and by changed ones."""
    for layer in layers(size):
        why = layer.why.removesuffix(", causal")
        made: Arguments = dict.fromkeys(("query", "key", "value"), layer.heads_first())
        yield {**made, WHY: why}
        if layer.causal:
            extents: dict[str, Argument] = {"Q_LEN": layer.length, "KV_LEN": layer.length}
            for body, words in (("causal", "causal"), *MASKS.items()):
                mask = Mapping({"mask_mod": Function(f"{BODIES}.{body}"), **extents})
                yield {**made, "block_mask": mask, WHY: f"{why}, {words}"}
            for body, words in SCORES.items():
                changed = Function(f"{BODIES}.{body}")
                yield {**made, "score_mod": changed, WHY: f"{why}, {words}"}
            few = made | dict.fromkeys(
                ("key", "value"), layer._replace(heads=SHARED_HEADS).heads_first()
            )
            mask = Mapping({"mask_mod": Function(f"{BODIES}.causal"), **extents})
            words = "causal, three heads of queries to one of keys"
            yield {**few, "block_mask": mask, "enable_gqa": True, WHY: f"as {why}, {words}"}


FUNCTIONS: dict[str, Family | str] = {"nn.attention.flex_attention.flex_attention": flexible}
