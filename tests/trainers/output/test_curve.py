from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from trainers.output.curve import REFERENCES, draw_curve, draw_panels

PNG = b"\x89PNG\r\n\x1a\n"


def steps(*horizons: int) -> list[dict]:
    return [
        {"phase": "rl", "step": i, "horizon": horizon, "score": 0.1 * i, "success": 0.05 * i}
        for i, horizon in enumerate(horizons, 1)
    ]


def evaluated(arm: str, *scores: float, **changes: Any) -> dict:
    rows = [{"score": s, "success": s == 1, "stop_reason": "horizon", **changes} for s in scores]
    return {"phase": "eval", "arm": arm, "rows": rows}


def drawn(metrics, chosen_step: int | None = None) -> list[Any]:
    """The panels of the picture and its legend, found by watching matplotlib."""
    figures: list[Any] = []
    save = Figure.savefig

    def watch(self, *args, **options):
        figures.append(self)
        return save(self, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", watch)
        assert draw_curve(metrics, chosen_step=chosen_step).startswith(PNG)
    return [*figures[0].axes, *figures[0].legends]


def lines(axes: Any) -> dict[str, list[float]]:
    """What each line that has a name shows."""
    return {
        line.get_label(): list(line.get_ydata())
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    }


def marks(axes: Any) -> list[tuple[float, str]]:
    return [(text.xy[0], text.get_text()) for text in axes.texts]


def test_the_trained_policy_stands_at_the_step_that_was_chosen():
    records = [*steps(5, 5, 8), evaluated("trained", 0.5, 1.0)]
    score, _ = drawn(records, chosen_step=2)[:2]
    point = next(line for line in score.get_lines() if line.get_label() == "trained, test")
    assert list(point.get_xdata()) == [2]


def test_lines_of_reference_differ_in_colour_and_in_style():
    colours, styles = zip(*REFERENCES.values(), strict=True)
    assert len(set(colours)) == len(set(styles)) == len(REFERENCES)


def test_the_trained_policy_stands_at_the_last_step():
    score, success = drawn(
        [*steps(5, 5, 8), evaluated("trained", 0.5, 1.0), evaluated("warm-start", 0.25)]
    )[:2]
    assert lines(score)["trained, test"] == [0.75]
    assert lines(success)["trained, test"] == [0.5]
    point = next(line for line in score.get_lines() if line.get_label() == "trained, test")
    assert list(point.get_xdata()) == [3]


def test_the_curve_names_the_turns_of_every_stage_as_far_as_there_is_room():
    for axes in drawn(steps(5, 5, 8, 8, 10))[:2]:
        assert marks(axes) == [(1.5, "5 turns"), (3.5, "8 turns"), (5, "10 turns")]
    for axes in drawn(steps(*[5] * 6, *[7] * 6, *[9] * 88))[:2]:
        assert marks(axes) == [(3.5, "5"), (9.5, "7"), (56.5, "9 turns")]
    for axes in drawn(steps(*range(5, 55), *[55] * 50))[:2]:
        assert [turns for _, turns in marks(axes)] == [*map(str, range(5, 55, 4)), "55 turns"]


def test_the_turns_stand_between_the_panel_and_its_title():
    panels = drawn(steps(5, 5, 8, 8, 10))[:2]
    panels[0].figure.draw_without_rendering()
    for axes in panels:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert min(box.y0 for box in boxes) >= axes.get_window_extent().y1
        assert max(box.y1 for box in boxes) <= axes.title.get_window_extent().y0


def test_stages_are_bands_the_darker_the_longer():
    for axes in drawn(steps(5, 5, 8, 8, 10))[:2]:
        bands = [(patch.get_x(), patch.get_width(), patch.get_alpha()) for patch in axes.patches]
        assert [(x, width) for x, width, _ in bands] == [(0.5, 2.0), (2.5, 2.0), (4.5, 1.0)]
        shades = [alpha for *_, alpha in bands]
        assert shades == sorted(set(shades))


def test_short_stages_of_a_long_run_can_be_told_apart():
    panels = drawn(steps(*[5] * 6, *[7] * 6, *[9] * 88))[:2]
    panels[0].figure.draw_without_rendering()
    for axes in panels:
        boxes = [text.get_window_extent() for text in axes.texts]
        pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :]]
        assert len(pairs) == 3
        assert not any(a.overlaps(b) for a, b in pairs)


def test_policies_that_do_not_learn_are_lines_of_reference():
    """An episode whose environment failed counts as little as in the table."""
    random = evaluated("random", 0.25, 0.75)
    random["rows"] += evaluated("random", 0.0, stop_reason="error")["rows"]
    metrics = [
        *steps(5, 5),
        random,
        evaluated("warm-start", 1.0, 0.2),
        evaluated("oracle", 1.0, 1.0),
    ]
    score, success = drawn(metrics)[:2]
    curves = lines(score)
    assert curves["random, test"] == [0.5, 0.5]
    assert curves["warm-start, test"] == [0.6, 0.6]
    assert curves["oracle, test"] == [1.0, 1.0]
    assert lines(success)["warm-start, test"] == [0.5, 0.5]


def test_validations_are_joined_points_at_their_steps():
    valid = [{"phase": "valid", "step": s, "score": 0.3, "success": 0.1} for s in (0, 2)]
    score, success = drawn([*steps(5, 5), *valid])[:2]
    assert lines(score)["validation tasks"] == [0.3, 0.3]
    assert lines(success)["validation tasks"] == [0.1, 0.1]
    (line,) = (
        candidate for candidate in score.get_lines() if candidate.get_label() == "validation tasks"
    )
    assert (line.get_marker(), line.get_linestyle()) == ("o", "-")


def test_steps_are_whole_numbers():
    for axes in drawn(steps(5, 5, 5, 5))[:2]:
        assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_the_legend_lies_outside_of_the_panels():
    score, success, legend = drawn([*steps(5, 8), evaluated("oracle", 1.0)])
    legend.figure.draw_without_rendering()
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in (score, success))


def test_the_pictures_of_the_page_take_on_its_letters_and_need_nothing_else():
    names = {"random": "random", "warm-start": "base-model", "oracle": "oracle"}
    pictures, keys = draw_panels([*steps(5, 8), evaluated("warm-start", 0.5)], names)
    assert list(pictures) == ["score", "success"]
    for picture in pictures.values():
        assert picture.startswith("<svg viewBox=")
        assert "fill: var(--soft)" in picture
        for foreign in ("http", "<style", "<metadata", "font-family"):
            assert foreign not in picture
    assert [(key.label, key.style) for key in keys] == [
        ("base-model, test", "dashed"), ("training episodes (mean of 9 steps)", "solid"),
    ]  # fmt: skip


def test_a_curve_without_steps_is_still_a_picture():
    assert draw_curve([]).startswith(PNG)
    assert draw_curve([{"phase": "sft", "step": 1, "loss": 0.1}]).startswith(PNG)
