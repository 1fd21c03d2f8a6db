"""The page of a run: ``report.html``, one file that needs nothing else."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from trainers.output.run_folder import RunFolder, read_jsonl, training_step, write_atomically
from trainers.output.summary import ARMS, ArmResult, Summary
from trainers.output.verdict import difference

EPISODES_SHOWN = 6
"""Training episodes on the page."""
TASKS_SHOWN = 3
"""Held-out tasks of which the page shows the episodes before and after."""


def write_report(folder: RunFolder, summary: Summary) -> Path:
    """Write ``report.html``: result, curve, episodes and settings, in one file.

    Args:
        folder: The run's folder, with ``config.yaml`` and ``curve.png``.
        summary: What becomes ``summary.json``.

    Returns:
        Path of the page.
    """
    curve = base64.b64encode((folder.path / "curve.png").read_bytes()).decode()
    page = _PAGE.format(
        title=html.escape(f"agentgym-train: {summary.env}, {summary.preset}"),
        verdict=html.escape(summary.verdict),
        remarks=_remarks(summary),
        results=_results(summary),
        curve=curve,
        held_out=_held_out(folder, summary),
        episodes=_training_episodes(folder),
        facts=_facts(summary),
        config=html.escape((folder.path / "config.yaml").read_text()),
    )
    path = folder.path / "report.html"
    write_atomically(path, page.encode())
    return path


def scaled_text(value: float | None) -> str:
    """Write a place on the scale from 0, random, to 100, expert; ``-`` where there is no scale."""
    return "-" if value is None else f"{value:.1f}"


def _remarks(summary: Summary) -> str:
    """Write what a reader must know besides the figures."""
    return "".join(f"<p>{html.escape(remark)}</p>" for remark in summary.remarks)


def _results(summary: Summary) -> str:
    """Write the tables: the policies as they were compared, and greedy ones where these differ."""
    evaluation, names = summary.evaluation, summary.names
    parts = [
        f"<p>{evaluation.decoding.capitalize()} actions, {evaluation.horizon} turns, on "
        f"{summary.eval['rl'].n} tasks of the {evaluation.split} split, which no training "
        "saw. Score is the environment's measure of progress from 0 to 1, success the share of "
        "solved tasks, both with 95 % intervals.</p>",
        _table(summary.eval, names),
    ]
    greedy = summary.greedy
    if greedy:
        arms = {"sft": greedy.sft, "rl": greedy.rl}
        paired = greedy.rl_minus_sft
        parts += [
            "<p>The same tasks with the likeliest action in place of a sampled one:</p>",
            _table(arms, names),
            f"<p>Trained minus {html.escape(names['sft'])}, greedy: score "
            f"{difference(paired.score_mean, paired.score_ci95)}, "
            f"success {difference(paired.success_mean, paired.success_ci95)}.</p>",
        ]
    return "\n".join(parts)


def _table(arms: Mapping[str, ArmResult], names: Mapping[str, str]) -> str:
    """Write figures of policies as a table."""
    rows = []
    for arm in ARMS:
        if arm not in arms:
            continue
        row = arms[arm]
        score, success = row.score_ci95, row.success_ci95
        rows.append(
            f"<tr><td>{html.escape(names[arm])}</td><td>{row.score_mean:.3f}</td>"
            f"<td>{score[0]:.3f} to {score[1]:.3f}</td><td>{row.success:.3f}</td>"
            f"<td>{success[0]:.3f} to {success[1]:.3f}</td><td>{row.turns_mean:.1f}</td>"
            f"<td>{scaled_text(row.scaled)}</td></tr>"
        )
    head = "".join(
        f"<th>{name}</th>"
        for name in (
            "policy", "score", "95 %", "success", "95 %", "turns", "0 random, 100 expert",
        )
    )  # fmt: skip
    return f"<table><tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def _held_out(folder: RunFolder, summary: Summary) -> str:
    """Write the first tasks of the panel as they were played before and after training."""
    names = summary.names
    arms = {
        names[arm]: list(islice(read_jsonl(folder.eval_episodes(arm)), TASKS_SHOWN))
        for arm in ("sft", "rl")
    }
    pairs = zip(*arms.values(), strict=False)
    return "\n".join(
        _transcript(episode, name)
        for pair in pairs
        for name, episode in zip(arms, pair, strict=True)
    )


def _training_episodes(folder: RunFolder) -> str:
    """Write the last logged episodes of training as transcripts."""
    shown = list(read_jsonl(folder.episodes_path))[-EPISODES_SHOWN:]
    return "\n".join(_transcript(episode, f"step {training_step(episode)}") for episode in shown)


def _transcript(episode: Mapping[str, Any], head: str) -> str:
    """Write one episode record."""
    lines = [f"<pre class=obs>{html.escape(episode['start']['observation'])}</pre>"]
    for turn in episode["turns"]:
        action = html.escape(turn["action"])
        lines.append(f"<pre class=act>{action}   <i>{turn['reward']:+.2f}</i></pre>")
        lines.append(f"<pre class=obs>{html.escape(turn['after']['observation'])}</pre>")
    if "error" in episode["details"]:
        lines.append(f"<pre class=obs>{html.escape(str(episode['details']['error']))}</pre>")
    title = html.escape(
        f"{head}: {episode['task_id']}, {episode['stop_reason']}, score {episode['score']:.2f}"
    )
    return f"<details><summary>{title}</summary>{''.join(lines)}</details>"


def _facts(summary: Summary) -> str:
    """Write how the run came about and how to go on from it."""
    horizon, evaluation = summary.horizon, summary.evaluation
    stages = ", ".join(map(str, horizon.rounds))
    packages = ", ".join(f"{name} {version}" for name, version in summary.packages.items())
    lines = {
        "steps": f"{summary.steps} of reinforcement learning; {stages} turns, a stage every "
        f"{horizon.every} steps",
        "seed": summary.seed,
        "time": f"{summary.wall_s / 60:.1f} minutes",
        "test tasks": f"{evaluation.split} split, panel SHA-256 {evaluation.panel_sha256}",
        "versions": packages,
        "weights": "checkpoints/trained (its README.md says how to load it)",
        "episodes": "episodes.jsonl of training, eval_episodes/ of validation and test; "
        "agentgym replay FILE plays them again",
        "to continue": "a run that was interrupted goes on when its command is repeated with "
        "--resume; this one is complete",
        "to evaluate": "serve checkpoints/trained with an OpenAI-compatible server and let "
        f"agentgym eval {summary.env} --policy chat play it, with the environment's arguments "
        "below as --set",
    }
    rows = (
        f"<tr><td>{name}</td><td>{html.escape(str(value))}</td></tr>"
        for name, value in lines.items()
    )
    return f"<table class=facts>{''.join(rows)}</table>"


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
padding: 0 1rem }} table {{ border-collapse: collapse }} td, th {{ padding: .25rem .8rem;
border-bottom: 1px solid #ddd; text-align: right }}
td:first-child, th:first-child {{ text-align: left }} .facts td {{ text-align: left;
overflow-wrap: anywhere; vertical-align: top }} .facts td:first-child {{ white-space: nowrap }}
pre {{ margin: .2rem 0; white-space: pre-wrap }} .act {{ color: #075; font-weight: 600 }}
.obs {{ color: #444; padding-left: 1.5rem }} img {{ max-width: 100% }}
.verdict {{ font-weight: 600 }}
</style>
<h1>{title}</h1>
<p class=verdict>{verdict}</p>
{remarks}
{results}
<img alt="learning curve" src="data:image/png;base64,{curve}">
<p>Training episodes are played at the turns of their stage, validation and test episodes at the
most turns.</p>
<h2>Held-out episodes, before and after</h2>
{held_out}
<h2>Last training episodes</h2>
{episodes}
<h2>The run</h2>
{facts}
<h2>Settings</h2>
<pre>{config}</pre>
</html>
"""
