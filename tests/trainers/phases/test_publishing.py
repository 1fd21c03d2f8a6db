"""What leaves a run: adapters merged into their base, and uploads to a stand-in of the hub."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import ModelCard
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.toy import TOY_ID
from tests.trainers import toy_runs
from tests.trainers.hub_standin import TOKEN, Hub, running
from trainers.cli import main
from trainers.config.config_file import read_settings
from trainers.config.model_files.adapter_folder import base_of
from trainers.output.run_folder import RunFolder
from trainers.phases.adapter_merge import merge_adapters

REPOSITORY = "someone/toy-agent"


@pytest.fixture
def run(adapter_run: Path, tmp_path: Path) -> Path:
    """A copy of a finished run that trained adapters."""
    return Path(shutil.copytree(adapter_run, tmp_path / "run"))


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with running() as served:
        yield served


@pytest.fixture(autouse=True)
def fresh(hub: Hub) -> None:
    """Each test finds an empty hub that lets everybody in who has the token."""
    hub.refuse_at = ""
    for store in (hub.repositories, hub.visibility, hub.commits):
        store.clear()


def resume(run: Path, *flags: str) -> int:
    """Resume a finished run through the command, also a copy, whose model has to be trusted."""
    model = read_settings(run / "config.yaml").get("model")
    return main(["--resume", "--out", str(run), "--trust", f"model={model}", *flags])


def online(patch: pytest.MonkeyPatch, url: str) -> None:
    """Let this process know a hub, as the environment variables would at its start."""
    constants = "huggingface_hub.constants"
    patch.setattr(f"{constants}.ENDPOINT", url)
    patch.setattr(f"{constants}.HF_HUB_OFFLINE", False)
    patch.setattr(f"{constants}.HF_HUB_DISABLE_XET", True)
    patch.setenv("HF_TOKEN", TOKEN)


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        scores: torch.Tensor = model(torch.arange(3, 9)[None]).logits
    return scores


# -- merging ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_writes_adapters_and_their_merged_model(adapter_run):
    """The policy that is kept is small; the merged one is whole, and acts alike."""
    best, merged = adapter_run / "checkpoints" / "best", adapter_run / "checkpoints" / "merged"
    for name in ("best", "trained"):
        names = {path.name for path in (adapter_run / "checkpoints" / name).iterdir()}
        assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json"} <= names
        assert "model.safetensors" not in names
    base = AutoModelForCausalLM.from_pretrained(base_of(best))
    merged_model = AutoModelForCausalLM.from_pretrained(merged)
    adapted = PeftModel.from_pretrained(base, best)
    assert logits(merged_model).allclose(logits(adapted), atol=1e-5)
    with adapted.disable_adapter():
        assert not logits(merged_model).allclose(logits(adapted), atol=1e-4), (
            "the adapters do something"
        )
    assert not (merged / "adapter_config.json").exists()
    chat = [{"role": "user", "content": "next is red"}]
    tokenizer, other_model = (AutoTokenizer.from_pretrained(path) for path in (best, merged))
    assert tokenizer.apply_chat_template(chat) == other_model.apply_chat_template(chat)


@pytest.mark.slow
def test_a_finished_run_is_exported_by_the_command(run, capsys):
    shutil.rmtree(run / "checkpoints" / "merged")
    old_text = (run / "summary.json").read_bytes()
    assert resume(run, "--export=none") == 0
    assert not (run / "checkpoints" / "merged").exists()
    assert resume(run, "--export=merged") == 0
    assert "merged model: " in capsys.readouterr().err
    assert (run / "summary.json").read_bytes() == old_text
    card = ModelCard.load(run / "checkpoints" / "merged" / "README.md")
    assert "merged into its weights" in card.text
    assert card.data.library_name == "transformers"


def test_half_an_export_is_made_again(run):
    merged = run / "checkpoints" / "merged"
    (merged / "complete").unlink()
    (merged / "model.safetensors").write_bytes(b"half")
    assert resume(run, "--export=merged") == 0
    assert AutoModelForCausalLM.from_pretrained(merged)


@pytest.mark.slow
def test_a_whole_model_has_nothing_to_merge(finished, tmp_path, capsys):
    run = shutil.copytree(finished, tmp_path / "run")
    assert resume(run, "--export=merged") == 0
    assert "nothing to merge: " in capsys.readouterr().err
    assert not (run / "checkpoints" / "merged").exists()


def test_a_quantised_base_is_refused_before_the_run(small_model, tmp_path, capsys):
    model = shutil.copytree(small_model, tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "gptq", "bits": 4}
    (model / "config.json").write_text(json.dumps(config))
    command = toy_runs.arguments(tmp_path / "run", "--export=merged", model=model)
    assert main(command) == 2
    message = toy_runs.last_line(capsys.readouterr().err)
    assert "stored quantised (gptq)" in message
    assert not (tmp_path / "run").exists()


def test_a_base_that_is_gone_is_said(run, tmp_path):
    path = run / "checkpoints" / "best" / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": "/no"}))
    with pytest.raises(Exception, match=r"expected --model to be .* got '/no'"):
        merge_adapters(path.parent, tmp_path / "merged")


def test_adapters_find_the_warm_start_of_a_run_that_was_moved(tmp_path):
    (tmp_path / "checkpoints" / "warm-start").mkdir(parents=True)
    best = tmp_path / "checkpoints" / "best"
    best.mkdir()
    config = {"peft_type": "LORA", "base_model_name_or_path": "/was/here/checkpoints/warm-start"}
    (best / "adapter_config.json").write_text(json.dumps(config))
    assert base_of(best) == str(tmp_path / "checkpoints" / "warm-start")
    config["base_model_name_or_path"] = "someone/warm-start"
    (best / "adapter_config.json").write_text(json.dumps(config))
    assert base_of(best) == "someone/warm-start"


# -- the hub ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_finished_run_is_pushed_with_its_card(run, hub):
    """By the command in a process of its own, which knows the hub from its environment alone."""
    environment = {
        **os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
    }  # fmt: skip
    # The run was made from Python, so that no command of this user has named its model.
    model = yaml.safe_load((run / "config.yaml").read_text())["model"]
    command = ["--resume", "--out", str(run), "--push-to-hub", REPOSITORY, "--export=merged"]
    command += ["--trust", f"model={model}"]
    process = toy_runs.run_command([*command, "--hub-private"], environment=environment)
    assert process.returncode == 0, process.stderr
    merged = run / "checkpoints" / "merged"
    pushed = hub.repositories[REPOSITORY]
    assert hub.visibility == {REPOSITORY: "private"}
    assert hub.commits == ["Trained policy of agentgym-train"]
    assert pushed["model.safetensors"] == (merged / "model.safetensors").read_bytes()
    assert {"config.json", "tokenizer.json", "README.md"} <= set(pushed)
    assert not {"complete", "validation.json", "training_args.bin"} & set(pushed)
    assert ModelCard(pushed["README.md"].decode()).data.tags[0] == "agentgym"
    assert not any(TOKEN.encode() in content for content in toy_runs.files(run).values())
    assert not any(TOKEN.encode() in content for content in pushed.values())


def test_visibility_is_the_hubs_default_and_never_changes(run, hub, monkeypatch):
    online(monkeypatch, hub.url)
    command = ["--push-to-hub", REPOSITORY, "--export=merged"]
    assert resume(run, *command) == 0
    assert resume(run, *command, "--hub-private") == 0
    assert hub.visibility == {REPOSITORY: None}
    assert "model.safetensors" in hub.repositories[REPOSITORY]


@pytest.mark.parametrize(
    ("at", "refusal", "sentence"),
    [
        ("/api/repos/create", (401, "Invalid username or password."), "401"),
        ("/commit/", (403, "You have exceeded your storage quota."), "quota"),
        ("/preupload/", (413, "Payload too large"), "413"),
        ("", None, "failed"),
    ],
)
def test_an_upload_that_fails_costs_a_warning_with_the_command(
    run, hub, monkeypatch, capsys, at, refusal, sentence
):
    """Of the account, the quota, a limit, and a network without a hub."""
    if refusal:
        hub.refuse_at, hub.refusal = at, refusal
    online(monkeypatch, hub.url if refusal else "http://127.0.0.1:9")
    old_text = (run / "summary.json").read_bytes()
    assert resume(run, "--push-to-hub", REPOSITORY, "--export=merged") == 0
    words = " ".join(capsys.readouterr().err.split())
    assert f"the upload to {REPOSITORY} failed: " in words
    assert sentence in words
    assert f"--resume --out {run} --push-to-hub {REPOSITORY} --export merged" in words
    assert "Traceback" in (run / "warnings.log").read_text()
    assert (run / "summary.json").read_bytes() == old_text
    assert not any(TOKEN.encode() in content for content in toy_runs.files(run).values())


def test_a_model_that_others_could_not_load_is_not_pushed(small_model, tmp_path, capsys):
    command = toy_runs.arguments(tmp_path / "run", "--push-to-hub", REPOSITORY, model=small_model)
    assert main(command) == 2
    message = toy_runs.last_line(capsys.readouterr().err)
    assert "expected --export merged with --push-to-hub" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["model", "a/b/c", "someone/no way", "some--one/model"])
def test_a_repository_needs_a_name_the_hub_takes(tmp_path, capsys, name):
    assert main(toy_runs.arguments(tmp_path / "run", f"--push-to-hub={name}")) == 2
    assert "expected --push-to-hub to be a repository" in toy_runs.last_line(
        capsys.readouterr().err
    )
    assert not (tmp_path / "run").exists()


def test_a_run_without_a_token_is_told_so_at_its_beginning(tmp_path, monkeypatch, capsys):
    class Stop(BaseException):
        pass

    def end(*_: Any) -> None:
        raise Stop

    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr("trainers.phases.run.has_token", lambda: False)
    monkeypatch.setattr("trainers.phases.run.PolicyComparison", end)
    with pytest.raises(Stop):
        main(toy_runs.arguments(tmp_path / "run", "--push-to-hub", REPOSITORY))
    assert "set HF_TOKEN" in capsys.readouterr().err


# -- the card --------------------------------------------------------------------------------------


def test_the_card_has_metadata_that_the_hub_reads(adapter_run):
    card = ModelCard.load(adapter_run / "checkpoints" / "best" / "README.md")
    assert card.data.library_name == "peft"
    assert card.data.pipeline_tag == "text-generation"
    assert {"agentgym", "toy", "turn-loo", "lora"} <= set(card.data.tags)
    assert card.data.base_model is None, "a folder of this machine is no model of the hub"
    summary = json.loads((adapter_run / "summary.json").read_text())
    by_metric = {result.metric_type: result for result in card.data.eval_results}
    assert by_metric["success"].metric_value == pytest.approx(
        summary["eval"]["trained"]["success"], abs=1e-4
    )
    assert by_metric["score"].dataset_type == TOY_ID
    assert by_metric["score"].dataset_revision == summary["evaluation"]["panel_sha256"]


def test_the_settings_on_the_card_make_the_same_run(adapter_run, small_model, tmp_path):
    """But for the folder of the model, of which a card says the name alone, and what is free."""
    from trainers.cli import parse_config
    from trainers.config.config_file import stored_settings

    text = (adapter_run / "checkpoints" / "best" / "README.md").read_text()
    assert str(small_model) not in text
    settings = tmp_path / "card.yaml"
    settings.write_text(text.split("```yaml\n")[1].split("```")[0])
    free = f"--memory.micro-tokens={toy_runs.SETTINGS['memory.micro-tokens']}"
    flags = [f"--model={small_model}", "--export=merged", free]
    config = parse_config(["--config", str(settings), *flags])
    assert stored_settings(config) == stored_settings(
        parse_config(["--config", str(adapter_run / "config.yaml")])
    )


def test_an_extended_run_exports_what_it_trained_last(run):
    merged = run / "checkpoints" / "merged"
    folder = RunFolder(run)
    folder._longer = {"env": TOY_ID}
    folder.extend()
    assert not merged.exists()
