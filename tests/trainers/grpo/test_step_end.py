"""The end of a step, at which a listener has TRL log and save when it will."""

from __future__ import annotations

from pathlib import Path

from tests.trainers.grpo.helpers import log, make_trainer
from trainers.grpo.step_end import StepEnd


def test_a_listener_decides_when_a_step_is_logged_and_saved_and_which_is_the_last(tmp_path: Path):
    """It is asked once for a step of several updates, and TRL does nothing on its own."""
    trainer = make_trainer(tmp_path, args={"steps": 9, "minibatches": 2, "save_every": 3})
    ends: list[tuple[int, bool, float | None]] = []

    def after_step(end: StepEnd) -> None:
        figures = None
        if end.step != 2:
            assert len(log(trainer, "loss")) == len(ends) - (end.step > 2), (
                "logged before it is asked"
            )
            figures = end.log()
        ends.append((end.step, end.due, figures and figures["time/update"]))
        if end.step in (1, 4):
            end.save()
        if end.step == 4:
            end.stop()

    trainer.after_step = after_step
    trainer.train()
    assert [(step, due) for step, due, _ in ends] == [(1, False), (2, False), (3, True), (4, False)]
    assert [seconds is None for *_, seconds in ends] == [False, True, False, False]
    assert [entry["step"] for entry in trainer.state.log_history if "loss" in entry] == [2, 6, 8]
    saved = sorted(path.name for path in tmp_path.glob("checkpoint-*"))
    assert saved == ["checkpoint-2", "checkpoint-8"], "neither the one that was due, nor an end"


def test_a_checkpoint_of_a_step_holds_what_was_logged_of_it(tmp_path: Path):
    """So that a resumed run knows of it: the record comes first, then the checkpoint."""
    trainer = make_trainer(tmp_path, args={"steps": 2})

    def after_step(end: StepEnd) -> None:
        end.log()
        end.save()

    trainer.after_step = after_step
    trainer.train()
    for step in (1, 2):
        state = (tmp_path / f"checkpoint-{step}" / "trainer_state.json").read_text()
        assert state.count('"loss"') == step
