"""A tiny chat model as a GGUF file, as converters write them."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<pad>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WIDTH, HIDDEN, HEADS, LAYERS = 16, 32, 2, 1


def write_gguf(path: Path, architecture: str = "llama", splitter: str = "smollm") -> Path:
    """Write a model of random weights whose tokens are bytes, and a few merges of them."""
    # The 256 characters by which byte-level tokenizers write bytes.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [256 + n for n in range(256 - len(printable))]
    merges = ["i n", "1 2", "Ġ Ġ"]
    tokens = [
        *SPECIAL,
        *map(chr, [*printable, *unprintable]),
        *(m.replace(" ", "") for m in merges),
    ]
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in {
        "block_count": LAYERS, "context_length": 1024, "embedding_length": WIDTH,
        "feed_forward_length": HIDDEN, "head_count": HEADS, "head_count_kv": HEADS,
        "layer_norm_rms_eps": 1e-5, "rope_freq_base": 10_000.0, "vocab_size": len(tokens),
    }.items():  # fmt: skip
        getattr(writer, f"add_{name}")(value)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitter)
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(3)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    rng = np.random.default_rng(0)
    shapes = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,)}
    block = {"attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "ffn_down": (WIDTH, HIDDEN)}
    block |= dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDTH, WIDTH))
    block |= dict.fromkeys(("ffn_gate", "ffn_up"), (HIDDEN, WIDTH))
    shapes |= {f"blk.0.{name}": shape for name, shape in block.items()}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(0, 0.1, shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
