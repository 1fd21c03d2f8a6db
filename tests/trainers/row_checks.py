"""Rows say exactly what the trajectories say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainers.rollouts.trajectory import Row, Trajectory


def action_ids(row: Row) -> list[list[int]]:
    """Sampled ids of a row, one list for each turn in it."""
    out: list[list[int]] = []
    inside = 0
    for token, sampled in zip(row.ids, row.mask, strict=True):
        if sampled and not inside:
            out.append([])
        if sampled:
            out[-1].append(token)
        inside = sampled
    return out


def check_rows(
    trajectories: Sequence[Trajectory],
    rows: Sequence[Row],
    decode: Callable[[Sequence[int]], str] | None = None,
) -> None:
    """Check that the masked tokens are those that were sampled, and say what the actions say.

    Args:
        trajectories: N episodes.
        rows: Their rows.
        decode: Turns sampled ids into action text, as ``TurnTokenizer.action_text``.
    """
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    actions = [ids for row in rows for ids in action_ids(row)]
    assert actions == [turn.ids for turn in turns], "the masked tokens are not those sampled"
    logprobs = [p for row in rows for p, m in zip(row.logprobs, row.mask, strict=True) if m]
    assert logprobs == [p for turn in turns for p in turn.logprobs]
    if decode is not None:
        assert [decode(ids) for ids in actions] == [turn.text for turn in turns], "encoded again?"
