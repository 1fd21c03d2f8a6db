"""The imitation loop of a run, and its checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trainers import processes
from trainers.config.model_files.precision import precision_arguments
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.models.loaded_policy import LoadedPolicy, adapters
from trainers.models.sft import Sft, SftSettings
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.whole_checkpoint import newest_whole, write_sizes
from trainers.phases.save_clock import SaveClock
from trainers.rollouts.trajectory import Row

if TYPE_CHECKING:
    from trainers.models.sft_pretrained import PretrainedSft

__all__ = ["SftCheckpoints", "make_sft", "sft_settings"]


def sft_settings(run: ResolvedRun, steps: int, eval_every: int) -> SftSettings:
    """Return the imitation settings of a run.

    Args:
        run: The run.
        steps: Maximum number of steps; the learning rate's cosine ends there.
        eval_every: Steps between two validations.
    """
    config = run.config.sft
    return SftSettings(
        steps=steps,
        batch_size=config.batch_size,
        lr=config.learning_rate,
        observation_weight=config.observation_weight,
        eval_every=eval_every,
        seed=run.config.seed,
    )


def make_sft(
    run: ResolvedRun,
    folder: RunFolder,
    policy: LoadedPolicy,
    rows: Sequence[Row],
    settings: SftSettings,
) -> Sft | PretrainedSft:
    """Return the trainer: a loop for the tiny model, or TRL with adapters for other models.

    The policy gets the adapters as well, so that it can be validated while it learns.
    """
    memory = run.config.memory
    shared_prefixes = memory.shared_prefixes == "auto"
    if run.config.model == TINY:
        return Sft(policy.model, rows, policy.chat.pad_id, settings, shared_prefixes)
    from trainers.models.sft_pretrained import PretrainedSft

    sft = PretrainedSft(
        policy.model,
        rows,
        policy.chat.tokenizer,
        settings,
        folder.checkpoints,
        adapters(run),
        precision_arguments(memory.precision, memory.checkpointing == "on"),
        memory.micro_tokens,
        shared_prefixes,
    )
    policy.model = sft.model
    return sft


class SftCheckpoints:
    """The newest checkpoint of a phase of imitation, in ``checkpoints/<prefix>-<step>``.

    Args:
        folder: The folder of the run or baseline.
        prefix: Begins their names.
        minutes: Minutes between two of them; 0: none is due by time.
        together: Whether all processes train and save.
    """

    def __init__(
        self, folder: RunFolder, prefix: str, minutes: float = 0.0, *, together: bool = False
    ) -> None:
        self._folder, self._prefix, self._together = folder, prefix, together
        self._clock = SaveClock(minutes, together=together)

    @property
    def latest(self) -> Path | None:
        """The newest undamaged checkpoint, or None."""
        checkpoint = self._folder.latest_checkpoint(self._prefix)
        newest = newest_whole([checkpoint] if checkpoint else [])[0]
        return processes.broadcast(newest) if self._together else newest

    def save_if_due(
        self,
        sft: Sft | PretrainedSft,
        due: bool = False,
        add: Callable[[Path], None] | None = None,
    ) -> None:
        """Write a checkpoint if it is time for one, and drop older ones.

        Args:
            sft: The imitation trainer.
            due: Whether one is due by the number of steps.
            add: Writes further files into its folder.
        """
        if due or self._clock.due:
            with self._clock:
                self._save(sft, add)

    def _save(self, sft: Sft | PretrainedSft, add: Callable[[Path], None] | None) -> None:
        """Write a checkpoint and drop older ones."""
        path = self._folder.checkpoints / f"{self._prefix}-{sft.step}"
        path.mkdir(exist_ok=True)
        sft.save(path)
        if add is not None:
            add(path)
        if isinstance(sft, Sft):  # Only the main process gets here.
            self._keep_only(path)
        else:
            processes.on_main(lambda: self._keep_only(path))

    def drop(self) -> None:
        """Remove all checkpoints after the phase."""
        for checkpoint in self._folder.checkpoints.glob(f"{self._prefix}-*"):
            shutil.rmtree(checkpoint)

    def _keep_only(self, path: Path) -> None:
        """Mark a checkpoint as complete and drop older ones."""
        write_sizes(path)
        (path / COMPLETE).touch()
        for checkpoint in self._folder.checkpoints.glob(f"{self._prefix}-*"):
            if checkpoint != path:
                shutil.rmtree(checkpoint)
