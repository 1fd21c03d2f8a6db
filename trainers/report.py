"""Pictures and pages of a run: ``curve.png`` and ``report.html``."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainers.folder import RunFolder, read_jsonl, training_step, write_atomically

ARMS = ("random", "sft", "rl", "oracle")
ARM_NAMES = {"random": "random", "sft": "warm start", "rl": "trained", "oracle": "oracle"}
EPISODES_SHOWN = 6


def _smooth(values: Sequence[float], window: int = 9) -> list[float]:
    """Return the trailing mean over ``window`` values."""
    return [
        sum(values[max(0, i + 1 - window) : i + 1]) / len(values[max(0, i + 1 - window) : i + 1])
        for i in range(len(values))
    ]


def draw_curve(metrics: Sequence[Mapping[str, Any]]) -> bytes:
    """Draw score and success over the steps of the RL phase, with the stage switches.

    Args:
        metrics: Records of ``metrics.jsonl``.

    Returns:
        A PNG.
    """
    from matplotlib.figure import Figure

    steps = [record for record in metrics if record.get("phase") == "rl"]
    figure = Figure(figsize=(8, 4.2), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    for key, colour in (("score", "tab:blue"), ("success", "tab:green")):
        values = [record[key] for record in steps]
        axes.plot([r["step"] for r in steps], values, color=colour, alpha=0.2, linewidth=1)
        axes.plot([r["step"] for r in steps], _smooth(values), color=colour, label=key)
    _draw_stages(axes, steps)
    axes.set(xlabel="RL step", ylabel="mean over sampled training episodes", ylim=(0, 1.02))
    axes.grid(alpha=0.25)
    if steps:
        axes.legend(loc="lower right")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _draw_stages(axes: Any, steps: Sequence[Mapping[str, Any]]) -> None:
    """Mark the steps at which the horizon changes."""
    previous = None
    for record in steps:
        if record["horizon"] != previous:
            axes.axvline(record["step"], color="grey", linestyle="--", linewidth=0.8)
            axes.text(
                record["step"], 1.0, f" {record['horizon']} turns", fontsize=8, va="top",
                color="dimgrey",
            )  # fmt: skip
            previous = record["horizon"]


def write_curve(folder: RunFolder) -> None:
    """Write ``curve.png`` from the records so far."""
    write_atomically(folder.path / "curve.png", draw_curve(folder.metrics()))


def write_report(folder: RunFolder, summary: Mapping[str, Any]) -> Path:
    """Write ``report.html``: result, curve, settings and a few episodes, in one file.

    Returns:
        Path of the page.
    """
    curve = base64.b64encode((folder.path / "curve.png").read_bytes()).decode()
    config = html.escape((folder.path / "config.yaml").read_text())
    page = _PAGE.format(
        title=html.escape(f"agentgym-train: {summary['env']}, {summary['preset']}"),
        table=_table(summary),
        paired=_paired(summary),
        curve=curve,
        episodes=_episodes(folder),
        config=config,
    )
    path = folder.path / "report.html"
    write_atomically(path, page.encode())
    return path


def _table(summary: Mapping[str, Any]) -> str:
    """Write the evaluation as table rows."""
    rows = []
    for arm in ARMS:
        if arm not in summary["eval"]:
            continue
        row = summary["eval"][arm]
        score, success = row["score_ci95"], row["success_ci95"]
        rows.append(
            f"<tr><td>{ARM_NAMES[arm]}</td><td>{row['score_mean']:.3f}</td>"
            f"<td>{score[0]:.3f} to {score[1]:.3f}</td><td>{row['success']:.3f}</td>"
            f"<td>{success[0]:.3f} to {success[1]:.3f}</td><td>{row['turns_mean']:.1f}</td>"
            f"<td>{row['scaled']:.1f}</td></tr>"
        )
    return "\n".join(rows)


def _paired(summary: Mapping[str, Any]) -> str:
    """Say the paired difference in a sentence."""
    paired = summary["paired"]["rl_minus_sft"]
    score, success = paired["score_ci95"], paired["success_ci95"]
    return (
        f"Trained minus warm start on the same {paired['n']} tasks: score "
        f"{paired['score_mean']:+.3f} ({score[0]:+.3f} to {score[1]:+.3f}), success "
        f"{paired['success_mean']:+.3f} ({success[0]:+.3f} to {success[1]:+.3f}); "
        "95 % intervals."
    )


def _episodes(folder: RunFolder) -> str:
    """Write the last logged episodes as transcripts."""
    shown = list(read_jsonl(folder.episodes_path))[-EPISODES_SHOWN:]
    return "\n".join(_transcript(episode) for episode in shown)


def _transcript(episode: Mapping[str, Any]) -> str:
    """Write one episode record."""
    lines = [f"<pre class=obs>{html.escape(episode['start']['observation'])}</pre>"]
    for turn in episode["turns"]:
        action = html.escape(turn["action"])
        lines.append(f"<pre class=act>{action}   <i>{turn['reward']:+.2f}</i></pre>")
        lines.append(f"<pre class=obs>{html.escape(turn['after']['observation'])}</pre>")
    task = html.escape(episode["task_id"])
    head = f"step {training_step(episode)}, {task}, {episode['stop_reason']}"
    return f"<details><summary>{head}</summary>{''.join(lines)}</details>"


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
padding: 0 1rem }} table {{ border-collapse: collapse }} td, th {{ padding: .25rem .8rem;
border-bottom: 1px solid #ddd; text-align: right }}
td:first-child, th:first-child {{ text-align: left }}
pre {{ margin: .2rem 0; white-space: pre-wrap }} .act {{ color: #075; font-weight: 600 }}
.obs {{ color: #444; padding-left: 1.5rem }} img {{ max-width: 100% }}
</style>
<h1>{title}</h1>
<table><tr><th>policy</th><th>score</th><th>95 %</th><th>success</th><th>95 %</th><th>turns</th>
<th>0 random, 100 oracle</th></tr>
{table}
</table>
<p>{paired}</p>
<img alt="learning curve" src="data:image/png;base64,{curve}">
<h2>Last training episodes</h2>
{episodes}
<h2>Settings</h2>
<pre>{config}</pre>
</html>
"""
