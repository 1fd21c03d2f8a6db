"""The health of a run as small multiples for ``report.html``: a signal each, over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trainers.output.curve import (
    SMOOTHED,
    TRAINING,
    VALIDATION,
    Key,
    Records,
    draw_stages,
    inline_svg,
    smooth,
    svg_axes,
)
from trainers.output.phase import Phase
from trainers.output.summary import HealthEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PANELS", "ChartPanel", "draw_health"]

ALARM, BACK = "#d55e00", "#a04a9c"
"""Colours of alarms and of rollbacks: distinguishable for all colour vision, on any background."""
SIZE = (3.3, 2.05)
"""Inches of a panel."""
MARK, LINE = "mark", "dashed"


class ChartPanel(NamedTuple):
    """One picture."""

    figure: str
    """Key of a step's record."""
    title: str
    """Its title."""
    signals: tuple[str, ...] = ()
    """Alarms that are marked in it."""
    share: bool = False
    """Whether it is a share, so that its axis stays within 0 and 1."""
    log: bool = False
    """Whether its axis is logarithmic."""


PANELS = (
    ChartPanel("score", "score", share=True),
    ChartPanel("group_return_std", "reward spread within groups", ("reward_spread",)),
    ChartPanel("zero_variance_groups", "groups that do alike", ("zero_variance",), share=True),
    ChartPanel("trained_fraction", "episodes that train", ("trained_fraction",), share=True),
    ChartPanel("entropy", "entropy, nats per token", ("entropy", "entropy_rise")),
    ChartPanel("grad_norm", "gradient norm", ("grad_norm",), log=True),
    ChartPanel("kl_behaviour", "KL to the behaviour", ("kl_behaviour",), log=True),
    ChartPanel("kl", "KL to the reference", ("kl",)),
    ChartPanel("clip_fraction", "clipped tokens", ("clip_fraction",), share=True),
    ChartPanel("logp_gap_mean", "log-probability gap", ("logp_gap",), log=True),
    ChartPanel("repeat", "repeated actions", ("repeat",), share=True),
    ChartPanel("invalid", "invalid actions", ("invalid",), share=True),
    ChartPanel("loss", "loss", ("non_finite",)),
)
"""All panels: results first, then signals in the order in which a collapse shows."""


def draw_health(
    metrics: Records, events: Sequence[HealthEvent]
) -> tuple[dict[str, str], list[Key]]:
    """Draw every signal of the run, as SVGs for a page.

    Returns:
        The pictures by title, and the legend of all of them.
    """
    steps = [record for record in metrics if record.get("phase") == Phase.REINFORCEMENT]
    pictures = {}
    for panel in PANELS:
        points = [(r["step"], v) for r in steps if (v := _value(r, panel.figure)) is not None]
        if points:
            with svg_axes(SIZE) as (axes, svg):
                _draw(axes, panel, points, steps)
                _draw_events(axes, panel, dict(points), events)
                if panel.figure == "score":
                    _draw_validation(axes, metrics)
            pictures[panel.title] = inline_svg(svg.getvalue())
    return pictures, _legend(metrics, events) if pictures else []


def _value(record: Mapping[str, Any], figure: str) -> float | None:
    """Return a figure of a step; invalid actions are one minus the share of valid ones."""
    if figure == "invalid":
        valid = record.get("valid")
        return None if valid is None else 1.0 - valid
    value: float | None = record.get(figure)
    return value


def _draw(
    axes: Axes, panel: ChartPanel, points: Sequence[tuple[int, float]], steps: Records
) -> None:
    """Draw one signal over the stages of the horizon."""
    from matplotlib.ticker import MaxNLocator

    numbers, values = [step for step, _ in points], [value for _, value in points]
    draw_stages(axes, steps, words=False)
    axes.plot(numbers, values, color=TRAINING, alpha=0.35, linewidth=1)
    axes.plot(numbers, smooth(values), color=TRAINING, linewidth=1.8)
    if panel.log and min(values) > 0 and max(values) > 20 * min(values):
        axes.set_yscale("log")
    elif panel.share:
        axes.set_ylim(-0.03 * max(values, default=1), min(1.03, 1.15 * max(*values, 0.05)))
    axes.margins(x=0.02, y=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5, min_n_ticks=1))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)


def _draw_events(
    axes: Axes, panel: ChartPanel, points: Mapping[int, float], events: Sequence[HealthEvent]
) -> None:
    """Mark the alarms of a signal, and in every panel the steps that rollbacks returned to."""
    for event in events:
        if event.to is not None:
            axes.axvline(event.to, color=BACK, linestyle="--", linewidth=1.4)
        if event.signal not in panel.signals:
            continue
        if event.to is None and event.step in points:
            axes.plot(
                [event.step], [points[event.step]], "v", color=ALARM, markersize=8,
                markeredgecolor="white", markeredgewidth=0.8, zorder=5, clip_on=False,
            )  # fmt: skip
        else:  # Its step was rolled back, or its figure is not finite.
            axes.plot(
                [event.to if event.to is not None else event.step], [0.96], "v", color=ALARM,
                markersize=8, markeredgecolor="white", markeredgewidth=0.8, zorder=5,
                transform=axes.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip


def _draw_validation(axes: Axes, metrics: Records) -> None:
    """Add the validations to the score of the training episodes."""
    validations = [record for record in metrics if record.get("phase") == Phase.VALIDATION]
    if validations:
        numbers, values = [r["step"] for r in validations], [r["score"] for r in validations]
        axes.plot(numbers, values, "o-", color=VALIDATION, markersize=3.5, linewidth=1.2)
        axes.set_ylim(-0.03, min(1.03, 1.15 * max(*values, axes.get_ylim()[1] / 1.15)))


def _legend(metrics: Records, events: Sequence[HealthEvent]) -> list[Key]:
    """Return the legend of lines and marks."""
    keys = [Key(f"every step, and its mean of {SMOOTHED} steps", TRAINING, "solid")]
    if any(record.get("phase") == Phase.VALIDATION for record in metrics):
        keys.append(Key("validation tasks", VALIDATION, "solid"))
    if events:
        keys.append(Key("alarm", ALARM, MARK))
    if any(event.to is not None for event in events):
        keys.append(Key("training went back to here", BACK, LINE))
    return keys
