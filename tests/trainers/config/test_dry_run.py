"""``--dry-run`` shows what a run writes into ``config.yaml``, and where each value comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.registration import FAMILIES
from agentgym.support.nested import flat
from tests.envs.database.test_official import QUESTION
from tests.toy import TOY_ID
from tests.trainers.test_refusals import read_refusal
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.presets import PRESETS
from trainers.cli import main, parse_config
from trainers.config.command import read_flags
from trainers.config.config_file import CONFIG_FILE, RESOLVED
from trainers.config.describe import SettingsRow, settings_rows
from trainers.config.layers import DEFAULT, FAMILY, FILE, FLAG, PRESET, QUICK
from trainers.config.resolve import resolve
from trainers.output.run_folder import RunFolder

TOY = f"tests.toy:{TOY_ID}"


def rows_of(*argv: str) -> dict[str, SettingsRow]:
    """The settings that a dry run of this command shows, by name."""
    config = parse_config(argv)
    return {
        row.name: row
        for row in settings_rows(config, resolve(config), read_flags(argv, "agentgym-train"))
    }


def check_written(folder: Path, *argv: str) -> dict[str, SettingsRow]:
    """Compare what a dry run shows with the settings that the run itself writes and uses."""
    config = parse_config(argv)
    run = resolve(config)
    RunFolder.open(folder, config, run.resolved())
    stored = yaml.safe_load((folder / CONFIG_FILE).read_text())
    decided = flat(stored.pop(RESOLVED))
    values = {**flat(stored), **{name: decided[name] for name in flat(stored) if name in decided}}
    rows = rows_of(*argv)
    used = flat(json.loads(json.dumps(_plain(run.config))))
    for row in rows.values():
        assert row.value == values[row.name], row
        assert used[row.name] in (None, row.value), f"{row}: {used[row.name]} is used"
    return rows


def _plain(part: Any) -> Any:
    from dataclasses import asdict

    return json.loads(json.dumps(asdict(part), default=str))


@pytest.mark.parametrize("name", PRESETS)
def test_it_shows_what_the_run_writes_for_every_preset(tmp_path: Path, name: str) -> None:
    argv = ["--env", TOY, "--preset", name]
    if JUDGE in PRESETS[name].needs:
        argv += ["--reward-hooks", "judge_mask:model=m,url=http://localhost:1"]
    if "teacher" in PRESETS[name].needs:
        argv += ["--distill.teacher", "HuggingFaceTB/some-model"]
    rows = check_written(tmp_path / "run", *argv)
    preset = resolve(parse_config(argv)).preset
    loss = preset.loss
    knob_values = [rows[f"rl.{knob}"].value for knob in ("epsilon", "epsilon_high", "entropy")]
    assert knob_values == [loss.low, loss.high, loss.entropy]
    assert rows["rl.aggregation"].value == loss.aggregation
    assert ("critic.kind" in rows) == ("critic" in preset.needs)
    assert ("turn_critic.updates" in rows) == ("turn_critic" in preset.needs)
    assert ("cross_policy.share" in rows) == ("policy_pool" in preset.needs)
    assert ("reward_model.updates" in rows) == ("prm" in preset.needs)
    assert ("distill.teacher" in rows) == ("distillation" in name)
    assert rows["preset"].source == FLAG and "lora.r" not in rows and "vllm.dtype" not in rows


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
def test_it_shows_what_the_run_writes_for_every_family(tmp_path: Path, name: str) -> None:
    rows = check_written(tmp_path / "run", "--env", name)
    assert rows["horizon"].source == FAMILY


def test_what_the_preset_sets_is_named_and_shown() -> None:
    rows = rows_of("--env", TOY, "--preset", "scalinginter", "--rl.epsilon", "0.3")
    values = {name: (row.text, row.source) for name, row in rows.items()}
    assert values["rl.beta"] == ("0.001", PRESET) and values["rl.entropy"] == ("0.001", PRESET)
    assert values["rl.epsilon"] == ("0.3", FLAG) and values["rl.epsilon_high"] == ("0.2", PRESET)
    assert values["steps"] == ("300", PRESET) and values["horizon"] == ("5,8,10", PRESET)
    assert values["rl.minibatches"] == ("4", PRESET)
    assert values["sft.learning_rate"] == ("0.006", DEFAULT)


def test_flag_file_family_and_quick_sizes_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("rl: {groups: 6, beta: 0.25}\n")
    argv = ["--env", "webshop", "--quick", "--config", str(file), "--rl.beta", "0.5"]
    sources = {name: row.source for name, row in rows_of(*argv).items()}
    assert sources["rl.beta"] == FLAG and sources["rl.groups"] == FILE
    assert sources["steps"] == sources["eval.num_tasks"] == QUICK
    assert sources["sft.batch_size"] == sources["rl.learning_rate"] == FAMILY
    assert sources["rl.num_generations"] == sources["sft.demonstrations"] == DEFAULT


def test_numbers_are_short_and_what_is_off_is_left_out() -> None:
    rows = rows_of("--env", TOY, "--preset", "ppo", "--rl.learning-rate", "0.0012")
    assert rows["critic.learning_rate"].text == "0.012"
    model = ("--env", TOY, "--model", "some/model", "--eval.num-tasks", "5")
    pretrained = rows_of(*model, "--sft.max-steps", "0")
    assert "lora.r" in pretrained and not {"tiny.hidden", "sft.max_steps"} & {*pretrained}
    assert rows_of(*model)["sft.max_steps"].value > 0
    assert not any(row.text in ("", "-", "None") for row in (*rows.values(), *pretrained.values()))


def shown_lines(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert main([*argv, "--dry-run"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("more", [(), ("--preset", "meowtea-ppo"), ("--preset", "tree-grpo")])
def test_it_is_readable_at_80_columns(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    more: Sequence[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    argv = ["--env", TOY, "--out", str(tmp_path / "run"), *more]
    lines = shown_lines(capsys, *argv)
    assert max(map(len, lines)) <= 80 and "…" not in "".join(lines)
    cells = [[part.strip() for part in line.split("│")[1:-1]] for line in lines if "│" in line]
    table = [row for row in cells if len(row) == 3]
    assert all(flag.startswith("--") for flag, _, _ in table), "no value takes two lines"
    rows = rows_of(*argv)
    assert {flag[2:]: (text, source) for flag, text, source in table} == {
        row.flag: (row.text, row.source) for row in rows.values()
    }
    assert not any(size == "0.00" for row in cells if len(row) == 2 for size in row)


def test_rows_without_a_split_to_train_on_are_refused_by_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(QUESTION) + "\n")
    out = tmp_path / "run"
    command = ["--env", "database", "--env-kwargs", f"data={data}", "expert=oracle"]
    command += ["--out", str(out), "--steps", "1"]
    sentence = read_refusal(command, capsys)
    assert "are in test; training needs a split train" in sentence
    assert read_refusal([*command, "--dry-run"], capsys) == sentence and not out.exists()


def test_rows_too_few_for_a_split_to_validate_on_are_refused_by_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "rows.jsonl"
    rows = [{**QUESTION, "description": f"Question {n}?"} for n in range(3)]
    out = tmp_path / "run"
    command = ["--env", "database", "--env-kwargs", f"data={data}", "--out", str(out)]
    data.write_text("\n".join(map(json.dumps, rows[:2])))
    sentence = read_refusal([*command, "--steps", "1"], capsys)
    assert "expected validation tasks" in sentence and "pass --sft.max-steps 0" in sentence
    assert read_refusal([*command, "--dry-run"], capsys) == sentence and not out.exists()
    data.write_text("\n".join(map(json.dumps, rows)))
    assert main([*command, "--dry-run"]) == 0


@pytest.mark.slow
def test_without_validation_tasks_a_run_learns_from_reward_alone(tmp_path: Path) -> None:
    data, out = tmp_path / "rows.jsonl", tmp_path / "run"
    rows = [{**QUESTION, "description": f"Question {n}?"} for n in range(2)]
    data.write_text("\n".join(map(json.dumps, rows)))
    sizes = ("steps=1", "rl.groups=1", "rl.num-generations=2", "eval.num-tasks=1", "horizon=2")
    small = ("tiny.hidden=16", "tiny.layers=1", "tiny.heads=2", "tiny.intermediate=32")
    command = ["--env", "database", "--env-kwargs", f"data={data}", "--out", str(out)]
    command += ["--sft.max-steps", "0", *(f"--{pair}" for pair in (*sizes, *small))]
    assert main(command) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["steps"] == 1 and "trained" in summary["eval"]
