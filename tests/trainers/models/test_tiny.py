from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from agentgym.envs.search.engine.commands import SEARCH, SearchCommand, find
from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from trainers.cli import parse_config
from trainers.config.resolve import resolve
from trainers.config.sections import TinyConfig
from trainers.models.loaded_policy import reader_of
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.chat import TurnTokenizer


def test_a_word_has_one_id_wherever_it_stands():
    tokenizer = build_tokenizer(["search[red shirt] click[#1] $45 12 half-eaten you're"])
    ids = tokenizer("Red , shirt red search[ red] #1 $45 12 half-eaten you're")["input_ids"]
    words = tokenizer.convert_ids_to_tokens(ids)
    assert words[0] == words[3] == words[5] == "red"
    assert words[4] == "search["
    assert words[-5:] == ["#1", "$45", "12", "half-eaten", "you're"]
    assert words[1] == "<|unk|>"
    assert tokenizer.decode(tokenizer("search[red shirt]")["input_ids"]) == "search[ red shirt ]"


def test_a_tag_is_one_word_which_an_environment_reads_back():
    text = "<search>mayor of Tor Hill</search> <answer>Cy</answer> 1 < 2 </b"
    tokenizer = build_tokenizer([text])
    ids = tokenizer("<search>mayor of Tor Hill</search>")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids)[::5] == ["<search>", "</search>"]
    assert find(tokenizer.decode(ids)) == (SearchCommand(SEARCH, "mayor of tor hill"), "")
    tail = tokenizer.convert_ids_to_tokens(tokenizer("1 < 2 </b")["input_ids"])
    assert tail == ["1", "<", "2", "<", "/", "b"]


@given(st.text(st.sampled_from("aB_ \n\t`=<>0é'"), max_size=40))
def test_an_exact_tokenizer_gives_every_text_of_its_words_back(text):
    tokenizer = build_tokenizer(["a", text], exact=True)
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_a_program_survives_the_tokenizer_of_the_family_that_edits_programs():
    action = (
        "```edit\na/b_c.py\n<<<<<<< SEARCH\n    if x:\n=======\n    if not X:\n>>>>>>> REPLACE\n```"
    )
    run = resolve(parse_config(["--env=swe"]))
    tokenizer = reader_of(run, [action])[0].tokenizer
    assert tokenizer.decode(tokenizer(action)["input_ids"]) == action
    assert not resolve(parse_config(["--env=webshop"])).exact_text


def test_wanted_words_survive_the_size_limit():
    tokenizer = build_tokenizer([f"word{i}" for i in "abcdefghijkl"], words=("rare",), vocabulary=9)
    assert "rare" in tokenizer.get_vocab()
    assert len(tokenizer) == 9
    with pytest.raises(ConfigurationError, match="words"):
        build_tokenizer(["", " "])


def test_default_size_and_seed():
    tokenizer = tiny_policy.tokenizer()
    state = torch.get_rng_state()
    model = build_model(tokenizer)
    assert torch.equal(state, torch.get_rng_state())
    assert 320_000 < sum(p.numel() for p in model.parameters()) < 350_000, "tied ones counted once"
    small = TinyConfig(hidden=16, layers=1, heads=2, intermediate=16)
    first, same_model, other_model = (build_model(tokenizer, small, seed) for seed in (1, 1, 2))
    names = [name for name, _ in first.named_parameters() if "norm" not in name]
    for name in names:
        weights = first.get_parameter(name)
        assert torch.equal(weights, same_model.get_parameter(name))
        assert not torch.equal(weights, other_model.get_parameter(name))
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id


def test_saved_policy_loads_with_auto_classes(tmp_path):
    tokenizer, model = tiny_policy.tokenizer(), tiny_policy.model()
    tokenizer.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    turn_tokenizer = TurnTokenizer(AutoTokenizer.from_pretrained(tmp_path))
    assert turn_tokenizer.observe("click . next is red") == tiny_policy.chat().observe(
        "click . next is red"
    )
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.tensor([[4, 7, 8]])
    assert torch.equal(loaded(ids).logits, model(ids).logits)


@pytest.mark.slow
def test_trl_trains_on_what_the_assistant_wrote_alone():
    """By TRL's own checks of a template for ``assistant_only_loss``."""
    from trl.chat_template_utils import (
        get_training_chat_template,
        has_generation_markers,
        is_chat_template_stop_token_trained,
    )

    tokenizer = build_tokenizer(["look go left right"])
    assert has_generation_markers(tokenizer.chat_template)
    assert get_training_chat_template(tokenizer) is None, "nothing has to be patched"
    assert is_chat_template_stop_token_trained(tokenizer)
    chat = [{"role": "user", "content": "look"}, {"role": "assistant", "content": "go left"}]
    options = {"return_dict": True, "return_assistant_tokens_mask": True}
    encoded = tokenizer.apply_chat_template(
        [*chat, {"role": "user", "content": "right"}], **options
    )
    assistant_ids = [
        i
        for i, is_answer in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)
        if is_answer
    ]
    assert tokenizer.decode(assistant_ids) == "go left<|end|>".replace("<", " <", 1)
