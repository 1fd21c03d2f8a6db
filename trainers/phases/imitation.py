"""The policy that reinforcement learning is compared with: it imitates further instead.

It begins with the warm start, as reinforcement learning does, imitates the same demonstrations in
the same way, with a learning rate that rises and falls anew, and is the best of its policies on the
validation tasks, the one that it begins with included. By default it trains for the time that
reinforcement learning trained, on the same machine; validations are counted for neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_environments import VALID
from trainers.config.schema import TINY
from trainers.models.loaded_policy import LoadedPolicy, load_policy
from trainers.models.sft import Sft
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.best import Validated
from trainers.phases.demonstrators import Demonstrator, demonstrated_rows, show_watching
from trainers.phases.held_out import HeldOutPlayer
from trainers.phases.rollout_setup import panel_tasks
from trainers.phases.sft_loop import SftCheckpoints, make_sft, sft_settings
from trainers.phases.warm_start import FINISHED, save_whole
from trainers.rollouts.trajectory import Row, Trajectory, rollout_metrics

if TYPE_CHECKING:
    from trainers.models.sft_pretrained import PretrainedSft

__all__ = ["PREFIX", "FurtherImitation"]

PREFIX = "imitation"
"""Folder of the policy under ``checkpoints``, and beginning of those that it is made from."""
VALIDATIONS = 10
"""Validations while it trains."""
BEST = "best.pt"
"""Weights of the best policy so far, within a checkpoint."""


class FurtherImitation:
    """Imitate on from the warm start; continues where it was killed.

    Args:
        run: The run.
        folder: Its folder, with the warm start, and the records of reinforcement learning.
        display: Shows the progress.

    Attributes:
        chat: Turn tokenizer of the policy.
    """

    def __init__(self, run: ResolvedRun, folder: RunFolder, display: Display) -> None:
        self._run, self._folder, self._display = run, folder, display
        self.steps = processes.on_main(self._planned)
        self._policy = self._trained()
        self.chat = self._policy.chat
        slots = len(processes.share(run.config.rl.episodes))
        self._player = HeldOutPlayer(run, self._policy, slots, together=True)

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        greedy: bool = False,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play held-out tasks, as ``Reinforcement.play`` does."""
        seed = self._run.config.seed
        return self._player.play(
            tasks, seed, version=self.steps, greedy=greedy, on_episode=on_episode
        )

    def close(self) -> None:
        """Close the engine and the environments."""
        self._player.close()

    def _planned(self) -> int:
        """Return the steps to take; they are decided once, as they depend on a clock."""
        asked = self._run.config.eval.imitation
        if asked != "as-long":
            return asked
        noted = self._folder.state().get("imitation")
        if noted is None:
            noted = {"steps": steps_as_long(self._folder.metrics())}
            self._folder.note(imitation=noted)
        return int(noted["steps"])

    def _trained(self) -> LoadedPolicy:
        """Return the policy, from its folder if it is done."""
        run, finished = self._run, self._folder.checkpoints / PREFIX
        alone = run.config.model == TINY  # Then the main process trains it.
        if not processes.on_main((finished / COMPLETE).exists):
            if alone:
                processes.on_main(lambda: self._imitate(together=False).save(finished))
            else:
                save_whole(self._imitate(together=True), finished)
            processes.on_main((finished / COMPLETE).touch)
        processes.on_main(SftCheckpoints(self._folder, PREFIX).drop)
        return load_policy(run, finished)

    def _imitate(self, together: bool) -> LoadedPolicy:
        """Train, and return the best policy."""
        run, folder = self._run, self._folder
        policy = load_policy(run, folder.checkpoints / FINISHED)
        with ExitStack() as stack:
            players = {env.name: Demonstrator(run, env) for env in run.envs if env.demonstrator}
            for each in players.values():
                stack.callback(each.close)
            show_watching(self._display, players.values())

            def watched() -> Sequence[Row]:
                return demonstrated_rows(run, policy, players)

            rows = processes.on_main(watched) if together else watched()
        every = max(1, math.ceil(self.steps / VALIDATIONS))
        sft = make_sft(run, folder, policy, rows, sft_settings(run, self.steps, every))
        course = _Course(run, folder, self._display, policy, sft, together)
        try:
            course.begin()
            sft.run(course.validate, course.progress)
        finally:
            course.close()
        best = course.load_best()
        end = {"steps": sft.step, "chosen": best.step, "valid_success": best.success}
        folder.note(imitation=end)
        policy.model = sft.merged()
        return policy


class _Course:
    """Validate, record, show and save what imitates, as it goes."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        policy: LoadedPolicy,
        sft: Sft | PretrainedSft,
        together: bool,
    ) -> None:
        self._folder, self._display, self._policy, self._sft = folder, display, policy, sft
        self._together = together
        panels = {env.name: env.panel(VALID, run.config.eval.valid_tasks) for env in run.envs}
        self._tasks, self._seed = panel_tasks(panels, run), run.config.seed
        slots = len(processes.share(len(self._tasks))) if together else len(self._tasks)
        self._player = HeldOutPlayer(run, policy, slots, together=together)
        self._checkpoints = SftCheckpoints(folder, PREFIX)
        self._best: Validated | None = None
        self._weights: dict[str, torch.Tensor] = {}
        self._figures: dict[str, float] = {}

    def begin(self) -> None:
        """Continue from the newest checkpoint, or validate the policy that all begin with."""
        found = self._checkpoints.latest
        if self._together:
            found = processes.broadcast(found)
        if found is not None:
            self._sft.load(found)
            kept = torch.load(found / BEST, weights_only=True)
            self._best, self._weights = Validated(**kept["validated"]), kept["weights"]
        self._folder.rewind(Phase.IMITATION, self._sft.step if found else -1)
        self._display.phase("imitation", self._sft.settings.steps, self._sft.step)
        if found is None:
            self._validated(0)

    def progress(self, step: int, figures: Mapping[str, float]) -> None:
        """Take down the losses, every few steps."""
        self._folder.log(phase=Phase.IMITATION, step=step, **figures)
        best = self._best.success if self._best else 0.0
        self._display.update(
            step, loss=figures["loss"], best=best, tokens_s=figures["tokens_per_second"]
        )

    def validate(self, step: int) -> bool:
        """Play the validation tasks, and save; nothing ends this but the steps."""
        self._validated(step)
        settings = self._sft.settings
        # At the end of a logged interval, so that a resumed run logs the same means.
        if step < settings.steps and step % settings.log_every == 0:
            self._checkpoints.save(self._sft, self._keep)
        return False

    def load_best(self) -> Validated:
        """Let the policy be the best one, and return what that reached."""
        assert self._best is not None  # The first policy is validated, too.
        # Only what was trained is kept: a frozen base has not changed.
        self._policy.model.load_state_dict(self._weights, strict=False)
        return self._best

    def close(self) -> None:
        """Close the engine and the environments."""
        self._player.close()

    def _validated(self, step: int) -> None:
        """Validate, record the result, and remember the weights if they are the best."""
        played = self._player.play(self._tasks, self._seed, version=step)
        figures = rollout_metrics(played)
        result = Validated(step, figures["rollout/success"], figures["rollout/score"])
        self._folder.log(
            phase=Phase.IMITATION, step=step, success=result.success, score=result.score
        )
        if result.beats(self._best):
            self._best, self._weights = result, _trained_weights(self._policy.model)

    @processes.main_only
    def _keep(self, checkpoint: Path) -> None:
        """Write the best policy so far into a checkpoint."""
        assert self._best is not None
        kept = {"validated": asdict(self._best), "weights": self._weights}
        torch.save(kept, checkpoint / BEST)


def steps_as_long(metrics: Sequence[Mapping[str, Any]]) -> int:
    """Return how many steps of imitation take as long as reinforcement learning took.

    Args:
        metrics: The records of a run: seconds of training of the warm start and, by part, of every
            step of reinforcement learning.
    """
    steps = [record for record in metrics if record.get("phase") == Phase.REINFORCEMENT]
    spent = sum(
        seconds
        for record in steps
        for part, seconds in record["time"].items()
        if part != "validation"
    )
    imitated = [r for r in metrics if r.get("phase") == Phase.WARM_START and "seconds" in r]
    taken = max((record["step"] for record in imitated), default=0)
    if not taken:
        return 0
    each = sum(record["seconds"] for record in imitated) / taken
    return max(1, round(spent / each))


def _trained_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of the weights that are trained."""
    return {
        name: weight.detach().to("cpu", copy=True)
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }
