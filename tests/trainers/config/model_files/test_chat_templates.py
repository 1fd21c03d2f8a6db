from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from trainers.config.model_files.chat_templates import CHATML, read_tokenizer, template_names
from trainers.models.tiny import CHAT_TEMPLATE
from trainers.rollouts.chat import TurnTokenizer

CONVERSATION = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "yes"}]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A tokenizer without a chat template."""
    tokenizer = tiny_policy.tokenizer(words=("stop",))
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


def test_without_a_choice_it_is_the_models_own(folder):
    assert read_tokenizer(folder, None, None).chat_template is None


def test_a_file_is_the_template_and_a_saved_tokenizer_keeps_it(folder, tmp_path):
    file = tmp_path / "mine.jinja"
    file.write_text(CHAT_TEMPLATE)
    tokenizer = read_tokenizer(folder, str(file), None)
    assert TurnTokenizer(tokenizer).end_text == "<|end|>"
    tokenizer.save_pretrained(tmp_path / "saved")
    assert AutoTokenizer.from_pretrained(tmp_path / "saved").chat_template == CHAT_TEMPLATE


def test_chatml_says_what_is_said_and_no_more(folder):
    tokenizer = read_tokenizer(folder, "chatml", None)
    text = tokenizer.apply_chat_template(CONVERSATION, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>user\ngo on<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_names_are_those_of_trls_templates(folder):
    assert {"chatml", "llama3", "qwen3", "gemma"} <= set(template_names())
    text = template_names()["llama3"].read_text()
    assert read_tokenizer(folder, "llama3", None).chat_template == text


def test_a_plain_word_ends_a_turn_where_it_is_chosen(folder, tmp_path):
    file = tmp_path / "mine.jinja"
    file.write_text(CHAT_TEMPLATE.replace("<|end|>", " stop "))
    assert TurnTokenizer(read_tokenizer(folder, str(file), None)).end_text != "stop"
    tokenizer = read_tokenizer(folder, str(file), "stop")
    tokenizer.save_pretrained(tmp_path / "saved")
    for variant in (tokenizer, AutoTokenizer.from_pretrained(tmp_path / "saved")):
        assert TurnTokenizer(variant).end_text == "stop"


@pytest.mark.parametrize(
    ("template", "end", "expected"),
    [
        ("lama3", None, "one of chatml, .*llama3.*got 'lama3'"),
        ("./absent.jinja", None, "cannot be read"),
        ("{folder}", None, "cannot be read"),
        ("{folder}/../empty.jinja", None, "with none"),
        ("{folder}/../bytes.jinja", None, "cannot be read"),
        (None, "<|nowhere|>", "a token of the model's vocabulary.*got '<|nowhere|>'"),
    ],
)
def test_what_is_no_template_or_token_is_said(folder, tmp_path, template, end, expected):
    (tmp_path / "empty.jinja").write_text(" \n")
    (tmp_path / "bytes.jinja").write_bytes(b"\xff\xfe\x00")
    template = template and template.format(folder=folder)
    with pytest.raises(ConfigurationError, match=expected.replace("|", r"\|")):
        read_tokenizer(folder, template, end)


def test_a_large_file_is_not_read_whole(folder, tmp_path):
    (tmp_path / "large.jinja").write_text(CHATML + " " * (1 << 20))
    with pytest.raises(ConfigurationError, match="of 1 to 1,048,576 bytes"):
        read_tokenizer(folder, str(tmp_path / "large.jinja"), None)
