"""An estimate of the memory that training takes on each device, from a model's shape alone.

With P weights, of which T are trained, b bytes for a number in the forward pass and n tokens in a
micro-batch, which has no more than a step: rows of an opening, which the episodes of a group share
where prefixes are computed once, and of what is played after it:

    process      libraries, and on a CPU what they hold beside tensors
    weights      P x 4, or x 2 for a frozen base in bf16; matrices x 1.03 in 8 bits, x .52 in 4 bits
    gradients    T x 4
    optimiser    T x 8 (AdamW), T x 2.03 (8-bit states with a scale per 256 weights)
    cast weights P x 2: autocast keeps bf16 copies of trained float32 matrices for a pass
    reference    P x 4, if the policy is compared with it and there are no adapters to turn off; and
                 T x 4 for each further policy that plays
    methods      what optional methods take, whole on every device: ``memory`` of their rows in the
                 table of methods
    activations  n x layers x (the input of a layer with checkpointing, else what autograd keeps of
                 it, see ``_layer_bytes``), and a mask of n x (longest row)
    working      the larger of what the head needs (a tile of --memory.logits_mib, what torch's
                 functions on it need without Triton, hidden states and their gradients, and the
                 head's gradient, V x H x 4, if it is trained) and what the backward pass of a layer
                 needs (with checkpointing the whole layer once); a tile has sampled tokens alone
    allocator    on a CPU, what the allocator keeps of small tensors that are freed between others
    generation   slots x context x layers x 2 x (width of keys) x b: the key-value cache, whose rows
                 the in-process engine keeps while the policy trains; it is an upper bound, reached
                 when an episode spends all of its tokens
    engine       P x b, if the in-process engine has weights of its own

These two are there for each policy that plays, where the in-process engine is no vLLM.

Of vLLM in this process the cache has a size of its own, whatever is played: what --vllm.memory
leaves beside its weights, 1 GiB on a CPU.

Under data parallelism each device needs all of it. FSDP and ZeRO 2 and 3 divide gradients and
optimiser states by the number of devices; FSDP and ZeRO 3 divide the weights, too, and

    gathered     two layers, embedding and head are whole while they are at work.

On a GPU fragments of the allocator come on top.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers.config.sections import ALL_LINEAR
from trainers.methods.method import MethodMemory

if TYPE_CHECKING:
    from transformers import PretrainedConfig

__all__ = [
    "GIB",
    "MemoryEstimate",
    "ModelShape",
    "TrainingSetup",
    "cache_bytes",
    "estimate",
]

GIB = 2**30
TILE_TOKENS = 4096
"""Tokens of a tile of logits, at most."""
TILES_WITHOUT_TRITON = 7
"""Tiles in float32 that torch's own functions hold at once in the backward pass of a tile."""
HEAP_TENSOR = 32 * 2**20
"""Bytes from which on glibc asks the system for every tensor, and returns it when it is freed."""
STATES = {"adamw": 8.0, "adamw-8bit": 2.03, "paged-adamw-8bit": 2.03}
"""Bytes of an optimiser's states per trained weight."""
QUANTIZED = {"8bit": 1.0, "4bit": 0.516}
"""Bytes per weight of a matrix: NF4 with double quantisation has 8 bits for 64 weights besides."""


@dataclass(frozen=True)
class ModelShape:
    """What the memory of a model depends on."""

    layers: int
    """Decoder layers."""
    hidden: int
    """Width."""
    intermediate: int
    """Width inside the feed-forward layer, of all experts that a token takes."""
    queries: int
    """Heads times width of a head."""
    keys: int
    """Key heads times width of a head."""
    vocabulary: int
    """Tokens."""
    parameters: int
    """All weights; tied ones count once."""
    matrices: int
    """Weights in linear layers, the head left out: what is quantised."""
    ends: int
    """Inputs and outputs of the layers that get adapters: rank times as many weights."""

    @classmethod
    def of(cls, config: PretrainedConfig, targets: Sequence[str] = ALL_LINEAR) -> ModelShape:
        """Read the shape off a configuration of transformers; no weights are made.

        Args:
            config: The configuration.
            targets: Linear layers that get adapters, as for ``--lora.targets``.

        Raises:
            ConfigurationError: The model has no such layer.
        """
        import torch
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):  # Shapes alone: no memory is taken.
            model = AutoModelForCausalLM.from_config(config)
        head = model.get_output_embeddings()
        linear = {
            name: module
            for name, module in model.named_modules()
            if isinstance(module, torch.nn.Linear) and module is not head
        }
        text = config.get_text_config()
        layers = _chosen_layers(linear, targets)
        heads = getattr(text, "num_attention_heads", 0)  # A state-space model has none.
        width = getattr(text, "head_dim", None) or text.hidden_size // max(1, heads)
        experts = getattr(text, "num_experts_per_tok", None)
        inner = getattr(text, "moe_intermediate_size", None) if experts else None
        inner = inner or getattr(text, "intermediate_size", None) or 4 * text.hidden_size
        return cls(
            layers=text.num_hidden_layers,
            hidden=text.hidden_size,
            intermediate=inner * (experts or 1),
            queries=heads * width,
            keys=(getattr(text, "num_key_value_heads", None) or heads) * width,
            vocabulary=text.vocab_size,
            parameters=sum(p.numel() for p in model.parameters()),
            matrices=sum(module.weight.numel() for module in linear.values()),
            ends=sum(linear[n].in_features + linear[n].out_features for n in layers),
        )


def _chosen_layers(names: Iterable[str], targets: Sequence[str]) -> list[str]:
    """Return the layers of which one of the targets is the last part of the name."""
    if tuple(targets) == ALL_LINEAR:
        return list(names)
    last_parts = {name: name.rpartition(".")[2] for name in names}
    absent = [target for target in targets if target not in last_parts.values()]
    if absent or not targets:
        raise ConfigurationError(
            f"expected --lora.targets to be all-linear, or linear layers of the model "
            f"({', '.join(sorted({*last_parts.values()}))}), got {', '.join(absent) or 'none'}"
        )
    return [name for name, part in last_parts.items() if part in targets]


@dataclass(frozen=True)
class TrainingSetup:
    """How a model is trained, as far as memory goes."""

    micro_tokens: int
    """Tokens of a micro-batch, padding included."""
    row_tokens: int
    """Tokens of its longest row."""
    precision: str = "fp32"
    """``fp32`` or ``bf16``."""
    checkpointing: bool = False
    """Whether activations are computed again."""
    rank: int = 0
    """Rank of the adapters; 0 trains all weights."""
    logits_mib: int = 256
    """Size of a tile of logits."""
    optimizer: str = "adamw"
    """Name of the optimiser."""
    quantize: str = "none"
    """Bits of the frozen base."""
    reference: bool = False
    """Whether the preset compares the policy with a copy."""
    methods: tuple[MethodMemory, ...] = ()
    """What optional methods take."""
    triton: bool = True
    """Whether tiles are reduced by one kernel, as on a GPU."""
    slots: int = 0
    """Episodes that are played at a time by an engine in this process."""
    context: int = 0
    """Maximum tokens of an episode's context."""
    engine_copy: bool = False
    """Whether the engine in this process has weights of its own."""
    vllm_bits: int = 0
    """Bits of a weight of vLLM on this device; 0: there is none."""
    vllm_cache: int = 0
    """Bytes of its cache."""
    shards: int = 1
    """Devices that gradients and optimiser states are divided among."""
    weights_sharded: bool = False
    """Whether the weights are divided among them as well."""
    rows: int = 0
    """Rows of a step; 0: unknown."""
    groups: int = 0
    """Groups whose rows begin with the same opening, computed once; 0: rows are computed apart."""
    opening_tokens: int = 0
    """Tokens of the opening of a row."""
    scored_tokens: int = 0
    """Sampled tokens of a row, whose logits are computed; 0: all."""
    sampled_tokens: int = 0
    """Sampled tokens of a step, at most; 0: unknown."""
    process: int = 0
    """Bytes of libraries, and of what they hold beside tensors."""
    retained: float = 0.0
    """Share of a layer's tensors that the allocator keeps once they are freed."""

    @property
    def low(self) -> int:
        """Bytes of a number in the forward pass."""
        return 2 if self.precision == "bf16" else 4

    def weights_of(self, shape: ModelShape) -> tuple[int, int]:
        """Return the numbers of weights that are trained, and of those below adapters."""
        adapters = self.rank * shape.ends
        return (adapters, shape.parameters) if adapters else (shape.parameters, 0)

    def further_model(self, shape: ModelShape, *, learns: bool = True, base: bool = True) -> int:
        """Return the bytes of a further model of the policy's shape.

        Args:
            shape: The shape.
            learns: Whether it is trained as well, with AdamW.
            base: Whether it has a base of its own below its adapters.
        """
        trained, frozen = self.weights_of(shape)
        states = int(4 + STATES["adamw"]) if learns else 0
        return trained * (4 + states) + frozen * self.low * base

    @property
    def keeps_reference(self) -> bool:
        """Whether a copy of the policy is kept."""
        return self.reference or any(method.reference for method in self.methods)

    @property
    def players(self) -> int:
        """Policies that play."""
        return 1 + sum(method.players for method in self.methods)

    @property
    def step_tokens(self) -> int:
        """Tokens of a step; 0: unknown."""
        if not self.groups:
            return self.rows * self.row_tokens
        episode_tokens = self.row_tokens - self.opening_tokens
        return self.groups * self.opening_tokens + self.rows * episode_tokens

    @property
    def tokens(self) -> int:
        """Tokens of its largest micro-batch, padding included."""
        micro_tokens = min(self.micro_tokens, self.step_tokens or self.micro_tokens)
        return max(micro_tokens, self.row_tokens)

    @property
    def scored(self) -> int:
        """Tokens of its largest micro-batch whose logits are computed."""
        if not (self.step_tokens and self.scored_tokens):
            return self.tokens
        scored_tokens = self.rows * min(self.scored_tokens, self.row_tokens)
        return max(
            1, min(self.tokens, scored_tokens, -(-self.tokens * scored_tokens // self.step_tokens))
        )


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on one device, by what they are for."""

    process: int
    """Libraries, and what they hold beside tensors."""
    weights: int
    """Weights, adapters among them."""
    reference: int
    """Copies of the policy."""
    methods: tuple[MethodMemory, ...]
    """What optional methods take."""
    gradients: int
    """Gradients of what is trained."""
    optimizer: int
    """States of the optimiser."""
    cast_weights: int
    """Copies in low precision, while a pass lasts."""
    activations: int
    """What is kept of a micro-batch for its backward pass."""
    working: int
    """What the head or one layer needs while it is computed."""
    allocator: int
    """What the allocator keeps of tensors that are freed."""
    generation: int
    """Key-value cache of an engine in this process."""
    engine: int
    """Weights of its own."""
    gathered: int
    """Layers whose weights are divided among devices, while they are at work."""

    @property
    def parts(self) -> dict[str, int]:
        """All of it by part, those of methods one by one."""
        parts: dict[str, int] = {}
        for item in fields(self):
            if item.name == "methods":
                parts |= {method.part: method.size for method in self.methods if method.part}
            else:
                parts[item.name] = getattr(self, item.name)
        return parts

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.parts.values())

    @property
    def generating(self) -> int:
        """What an engine takes that can be put to sleep while the policy trains."""
        return self.generation + self.engine

    @property
    def updating(self) -> int:
        """What is there only while the policy trains."""
        passing = self.activations + self.working + self.allocator
        return self.cast_weights + passing + self.gathered

    def peak(self, *, sleeps: bool) -> int:
        """The most at a time: a sleeping engine makes room for the training, and the reverse."""
        return self.total - (min(self.generating, self.updating) if sleeps else 0)


def estimate(shape: ModelShape, training: TrainingSetup) -> MemoryEstimate:
    """Estimate the memory of one device; the formulas are at the top of this file."""
    low, (trained, frozen) = training.low, training.weights_of(shape)
    adapters = trained if frozen else 0
    weights = trained * 4.0 + frozen * low
    if training.quantize != "none":
        weights -= shape.matrices * (low - QUANTIZED[training.quantize])
    cast = low == 2 and not adapters
    stored = low if adapters else 4
    # In bits, since vLLM's weights may have fewer than eight.
    copied = 8 * stored * training.engine_copy * training.players + training.vllm_bits
    # Two layers: one computes while the next is gathered.
    at_work = 2 * shape.matrices // shape.layers + 2 * shape.vocabulary * shape.hidden
    return MemoryEstimate(
        process=training.process,
        weights=int(weights / (training.shards if training.weights_sharded else 1)),
        reference=int(
            training.keeps_reference * (0 if adapters else shape.parameters * 4)
            + (training.players - 1) * trained * 4
        ),
        methods=training.methods,
        gradients=int(trained * 4 / training.shards),
        optimizer=int(trained * STATES[training.optimizer] / training.shards),
        cast_weights=2 * (shape.matrices + shape.hidden * shape.vocabulary) if cast else 0,
        activations=_activation_bytes(shape, training),
        working=max(_head_bytes(shape, training), _backward_bytes(shape, training)),
        allocator=_retained_bytes(shape, training),
        generation=training.slots * training.players * cache_bytes(shape, training.context, 8 * low)
        + training.vllm_cache,
        engine=copied * shape.parameters // 8,
        gathered=training.weights_sharded * at_work * stored,
    )


def cache_bytes(shape: ModelShape, tokens: int, bits: int) -> int:
    """Bytes of the keys and values of so many tokens, in numbers of so many bits."""
    return tokens * shape.layers * 2 * shape.keys * bits // 8


def _activation_bytes(shape: ModelShape, training: TrainingSetup) -> int:
    """Bytes that are kept of a micro-batch, for all layers."""
    tokens = training.tokens
    # Between layers, all weights trained, everything is float32.
    wide = training.precision == "fp32" or not training.rank
    layer = shape.hidden * (4 if wide else 2)
    if not training.checkpointing:
        layer = _layer_bytes(shape, training)
    return tokens * shape.layers * layer


def _backward_bytes(shape: ModelShape, training: TrainingSetup) -> int:
    """Bytes of the backward pass of one layer: gradients, and with checkpointing the layer."""
    tokens, low = training.tokens, training.low
    passing = 2 * low * (shape.intermediate + shape.hidden)
    return tokens * (passing + training.checkpointing * _layer_bytes(shape, training))


def _retained_bytes(shape: ModelShape, training: TrainingSetup) -> int:
    """Bytes of freed tensors that a CPU's allocator keeps between those that are in use.

    Tensors below 32 MiB come from one heap. In every layer a few are freed beside others that stay,
    and their room is too small for the next ones. Larger tensors go back to the system at once.
    """
    tokens, low = training.tokens, training.low
    # Width and number of the tensors of a layer, as in `_layer_bytes`.
    tensors = (shape.hidden, 10), (shape.queries, 5), (shape.intermediate, 4)
    size = sum(
        width * number * low for width, number in tensors if tokens * width * low < HEAP_TENSOR
    )
    return int(training.retained * tokens * shape.layers * size)


def _layer_bytes(shape: ModelShape, training: TrainingSetup) -> int:
    """Bytes that autograd keeps of a token in one layer: two norms, attention, a gated MLP.

    A norm keeps its input, its input divided by its size (if its weight is trained) and its output,
    which the linear layers after it need; norms compute in float32. Attention keeps queries, keys
    and values of all heads, and its output twice; the MLP keeps both of its branches, the activated
    one and their product. In bf16 each adapter keeps a copy of its input.
    """
    hidden, inner, queries = shape.hidden, shape.intermediate, shape.queries
    if training.precision == "fp32":
        norms = (2 if training.rank else 3) * 2 * hidden
        return 4 * (norms + 5 * queries + 4 * inner)
    low = 2 * (5 * queries + 4 * inner)
    return low + (2 * 4 * hidden + 5 * 2 * hidden if training.rank else 2 * 10 * hidden)


def _head_bytes(shape: ModelShape, training: TrainingSetup) -> int:
    """Bytes of the head: tiles of logits, hidden states and their gradients, its own gradient."""
    tokens, low = training.tokens, training.low
    # The width follows from all tokens; those that are not sampled are left out afterwards.
    columns = training.logits_mib * 2**20 // (low * min(tokens, TILE_TOKENS))
    rows = min(training.scored, TILE_TOKENS)
    tile = rows * max(1, min(columns, shape.vocabulary))
    tiles = tile * low + (0 if training.triton else TILES_WITHOUT_TRITON * 4 * tile)
    states = tokens * shape.hidden * (low + 4)
    head = 0 if training.rank else shape.vocabulary * shape.hidden * 4
    return tiles + states + head
