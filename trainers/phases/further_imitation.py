"""Baselines that continue to imitate the demonstrations.

Each starts from the warm start, as reinforcement learning does, and imitates in the same way with a
restarted learning-rate schedule: all demonstrations, or only those that solved their task. It gets
at least the same compute (``trainers.phases.equal_compute``), and its policy is selected from as
many validations on the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import VALID
from trainers.config.schema import TINY
from trainers.models.loaded_policy import LoadedPolicy, load_policy
from trainers.models.sft import Sft
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.roles import FILTERED_BC
from trainers.output.run_checkpoints import FINISHED
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.summary import BaselineEnd
from trainers.phases.best import Validated
from trainers.phases.demonstrators import BaselineDemonstrations
from trainers.phases.equal_compute import computed, imitation_steps, spaced
from trainers.phases.held_out import HeldOutPlayer
from trainers.phases.rollout_setup import panel_tasks
from trainers.phases.sft_loop import SftCheckpoints, make_sft, sft_settings
from trainers.phases.warm_start import save_whole
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.trajectory import Trajectory

if TYPE_CHECKING:
    from trainers.models.sft_pretrained import PretrainedSft

__all__ = ["END", "PREFIX", "FurtherImitation"]

PREFIX = "imitation"
"""Prefix of the names of its checkpoints."""
END = "end"
"""Key in the baseline's folder: how its training ended."""
BEST = "best.pt"
"""Weights of the best policy so far, within a checkpoint."""


class FurtherImitation:
    """Continue imitation from the warm start; resumes after a kill.

    Args:
        run: The run.
        folder: Its folder, with the warm start, and the records of reinforcement learning.
        place: Folder of the baseline.
        display: Shows the progress.
        name: Name of the baseline.
        demonstrations: The demonstrations.

    Attributes:
        chat: Turn tokenizer of the policy.
        end: How its training ended.
    """

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        place: RunFolder,
        display: Display,
        name: str,
        demonstrations: BaselineDemonstrations,
    ) -> None:
        self._run, self._folder, self._place, self._display = run, folder, place, display
        self._name, self._demonstrations = name, demonstrations
        self._policy = self._trained()
        self.chat = self._policy.chat
        self.end = BaselineEnd(**processes.on_main(lambda: place.state()[END]))
        slots = len(processes.share(run.config.rl.episodes))
        self._player = HeldOutPlayer(
            run, self._policy, slots, together=True, on_tokens=display.count
        )

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        greedy: bool = False,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play held-out tasks, as ``Reinforcement.play`` does."""
        seed = self._run.config.seed
        return self._player.play(
            tasks, seed, version=self.end.steps, greedy=greedy, on_episode=on_episode
        )

    def close(self) -> None:
        """Close the engine and the environments."""
        self._player.close()

    def _trained(self) -> LoadedPolicy:
        """Return the policy, loaded if it was already trained."""
        run, finished = self._run, self._folder.checkpoints / self._name
        alone = run.config.model == TINY  # Then only the main process trains.
        if not processes.on_main((finished / COMPLETE).exists):
            if alone:
                processes.on_main(lambda: self._imitate(together=False).save(finished))
            else:
                save_whole(self._imitate(together=True), finished)
            processes.on_main((finished / COMPLETE).touch)
        processes.on_main(SftCheckpoints(self._place, PREFIX).drop)
        return load_policy(run, finished)

    def _imitate(self, together: bool) -> LoadedPolicy:
        """Train, and return the best policy."""
        run, place = self._run, self._place
        policy = load_policy(run, self._folder.checkpoints / FINISHED)

        def planned() -> tuple[Any, int, int, int]:
            rows = self._demonstrations.rows(policy, only_successes=self._name == FILTERED_BC)
            records = self._folder.metrics()
            validations = sum(r.get("phase") == Phase.VALIDATION and r["step"] > 0 for r in records)
            tokens = computed(records, run.config.rl.num_iterations)
            baseline_steps = run.config.eval.baseline_steps
            least = baseline_steps or imitation_steps(tokens, rows, run.config.sft.batch_size)
            return rows, validations, *spaced(least, validations)

        rows, validations, steps, interval = processes.on_main(planned) if together else planned()
        sft = make_sft(run, place, policy, rows, sft_settings(run, steps, interval))
        course = _Course(
            run, place, self._display, policy, sft, self._name, validates=validations > 0,
            together=together,
        )  # fmt: skip
        try:
            course.begin()
            sft.run(course.validate, course.progress, course.after_step)
        finally:
            course.close()
        place.note(**{END: asdict(course.end())})
        policy.model = sft.merged()
        return policy


class _Course:
    """Validate, record, show and save the imitating policy."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        policy: LoadedPolicy,
        sft: Sft | PretrainedSft,
        name: str,
        *,
        validates: bool,
        together: bool,
    ) -> None:
        self._folder, self._display, self._policy, self._sft = folder, display, policy, sft
        self._name, self._validates, self._together = name, validates, together
        panels = {env.name: env.panel(VALID, run.config.eval.valid_tasks) for env in run.envs}
        self._tasks, self._seed = panel_tasks(panels, run), run.config.seed
        slots = len(processes.share(len(self._tasks))) if together else len(self._tasks)
        self._player = HeldOutPlayer(run, policy, slots, together=together, on_tokens=display.count)
        self._checkpoints = SftCheckpoints(
            folder, PREFIX, run.config.sft.save_minutes, together=together
        )
        self._best: Validated | None = None
        self._weights: dict[str, torch.Tensor] = {}

    def begin(self) -> None:
        """Continue from the newest checkpoint, if there is one."""
        checkpoint = self._checkpoints.latest
        if checkpoint is not None:
            self._sft.load(checkpoint)
            if self._validates:
                stored = torch.load(checkpoint / BEST, weights_only=True)
                self._best, self._weights = Validated(**stored["validated"]), stored["weights"]
        self._folder.rewind(Phase.IMITATION, self._sft.step)
        self._display.phase(self._name, self._sft.settings.steps, self._sft.step)

    def progress(self, step: int, figures: Mapping[str, float]) -> None:
        """Record the losses, every few steps."""
        self._folder.log(phase=Phase.IMITATION, step=step, **figures)
        self._show(step, figures)

    def _show(self, step: int, figures: Mapping[str, float]) -> None:
        """Show the loss, the best policy so far, and the speed."""
        best = self._best.success if self._best else 0.0
        self._display.update(
            step, loss=figures["loss"], best=best, tokens_s=figures["tokens_per_second"]
        )

    def validate(self, step: int) -> bool:
        """Play the validation tasks; never ends the training early."""
        if self._validates:
            self._validated(step)
        return False

    def after_step(self, step: int) -> None:
        """Show and save at intervals; also save after each validation."""
        if self._display.due and (figures := self._sft.figures()):
            self._show(step, figures)
        validated = step % self._sft.settings.eval_every == 0
        self._checkpoints.save_if_due(self._sft, validated, self._keep)

    def end(self) -> BaselineEnd:
        """Load the best policy, or keep the last if none was validated; return how it ended."""
        last = self._sft.step
        if self._best is None:
            return BaselineEnd(last, last)
        # Only trained weights are stored: a frozen base has not changed.
        self._policy.model.load_state_dict(self._weights, strict=False)
        return BaselineEnd(last, self._best.step, self._best.success)

    def close(self) -> None:
        """Close the engine and the environments."""
        self._player.close()

    def _validated(self, step: int) -> None:
        """Validate, record the result, and remember the weights if they are the best."""
        trajectories = self._player.play(self._tasks, self._seed, version=step)
        figures = rollout_metrics(trajectories)
        result = Validated(step, figures["rollout/success"], figures["rollout/score"])
        self._folder.log(
            phase=Phase.IMITATION, step=step, success=result.success, score=result.score
        )
        if result.beats(self._best):
            self._best, self._weights = result, _trained_weights(self._policy.model)

    @processes.main_only
    def _keep(self, checkpoint: Path) -> None:
        """Write the best policy so far into a checkpoint."""
        if self._best is None:
            return
        stored = {"validated": asdict(self._best), "weights": self._weights}
        torch.save(stored, checkpoint / BEST)


def _trained_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of the trained weights."""
    return {
        name: weight.detach().to("cpu", copy=True)
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }
