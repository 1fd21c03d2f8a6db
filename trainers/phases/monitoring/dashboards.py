"""Dashboards: send metrics of training to TensorBoard, Weights & Biases and trackio.

Metrics go through the callbacks of transformers, sample episodes as a separate table. Each
dashboard has its own thread, so that a slow or lost connection does not delay training; a failed
dashboard is dropped with a warning.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Queue
from typing import Any, Protocol

from transformers import TrainerControl, TrainerState, TrainingArguments
from transformers.integrations import TensorBoardCallback, TrackioCallback, WandbCallback

from agentgym.core.outcome import StopReason
from agentgym.errors import require
from trainers.output.run_folder import RunFolder
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.trajectory import Trajectory

__all__ = ["COLUMNS", "PROJECT", "Dashboards", "Reporter", "reporter_makers", "sample_turns"]

PROJECT = "agentgym"
"""Project of wandb and trackio, unless WANDB_PROJECT or TRACKIO_PROJECT names another."""
COLUMNS = ("step", "task", "turn", "observation", "action", "reward", "terms")
"""Columns of the table of sample episodes."""
TABLE = "episodes"
"""Its name."""
CELL = 600
"""Maximum characters of a cell."""
INIT_SECONDS = 30.0
"""Seconds after which wandb stops trying to reach its server at the start."""
CLOSE_SECONDS = 60.0
"""Seconds that the end of training waits for a dashboard to process its messages."""
FINISH_SECONDS = 45.0
"""Seconds after which wandb stops uploading at the end; without a limit the process would wait
until its server is back."""
ENV_ID = "WANDB_RUN_ID"

Rows = Sequence[Sequence[object]]
Moment = tuple[TrainingArguments, TrainerState, TrainerControl]
"""The arguments of a transformers callback: settings, state and control."""

logger = logging.getLogger(__name__)


class Reporter(Protocol):
    """The interface of a dashboard: transformers' events, and a table.

    Attributes:
        purges: Whether it can overwrite steps that training repeats; to other dashboards such steps
            are not sent again.
    """

    purges: bool

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> object:
        """Connect."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> object:
        """Log figures."""

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> object:
        """Finish."""

    def table(self, rows: Rows, step: int) -> None:
        """Log rows of :data:`COLUMNS`."""
        ...


class WandbReporter(WandbCallback):
    """Weights & Biases; a run that is resumed goes on in the same chart."""

    purges = False

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self._folder = folder

    def setup(
        self, args: TrainingArguments, state: TrainerState, model: object, **kwargs: Any
    ) -> None:
        """Connect, for a bounded time."""
        if state.is_world_process_zero and self._wandb.run is None:
            run_id = self._folder.state().get("wandb_id")
            run = self._wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=args.run_name,
                dir=str(self._folder.path),
                id=os.environ.get(ENV_ID) or run_id,
                resume="allow",
                settings=self._wandb.Settings(
                    init_timeout=INIT_SECONDS, finish_timeout=FINISH_SECONDS,
                    finish_timeout_raises=True, console="off", quiet=True,
                ),
            )  # fmt: skip
            self._folder.note(wandb_id=run.id)
        super().setup(args, state, model, **kwargs)

    def table(self, rows: Rows, step: int) -> None:
        """Log a table."""
        table = self._wandb.Table(columns=list(COLUMNS), data=[list(row) for row in rows])
        self._wandb.log({f"train/{TABLE}": table, "train/global_step": step})

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Send what is left."""
        super().on_train_end(args, state, control, **kwargs)
        self._wandb.finish()


class TrackioReporter(TrackioCallback):
    """trackio, in its local database or wherever its variables say."""

    purges = False

    def table(self, rows: Rows, step: int) -> None:
        """Log a table."""
        pandas = require("pandas", "train")
        frame = pandas.DataFrame([list(row) for row in rows], columns=list(COLUMNS))
        table = self._trackio.Table(dataframe=frame)
        self._trackio.log({f"train/{TABLE}": table, "train/global_step": step})


class TensorBoardReporter(TensorBoardCallback):
    """TensorBoard, in the folder of the run."""

    purges = True

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = str(path)
        self.tb_writer: Any = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Open a file of events, which hides those of older files after the present step."""
        from torch.utils.tensorboard import SummaryWriter

        if self.tb_writer is not None:
            self.tb_writer.close()
        self.tb_writer = SummaryWriter(self._path, purge_step=state.global_step + 1)
        super().on_train_begin(args, state, control, **kwargs)

    def table(self, rows: Rows, step: int) -> None:
        """Log a table, as text that TensorBoard sets as one."""
        lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
        text = "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)
        self.tb_writer.add_text(f"train/{TABLE}", text, step)


def reporter_makers(names: Sequence[str], folder: RunFolder) -> dict[str, Callable[[], Reporter]]:
    """Return a factory of each requested dashboard's reporter, by name."""
    makers: dict[str, Callable[[], Reporter]] = {
        "tensorboard": lambda: TensorBoardReporter(folder.path / "tensorboard"),
        "wandb": lambda: WandbReporter(folder),
        "trackio": TrackioReporter,
    }
    if {"wandb", "trackio"} & set(names):
        # Both import IPython in their threads. matplotlib, drawing meanwhile, reads IPython's
        # version as soon as sys.modules has it, even half initialised, which crashed the training.
        # So it is imported here, before the threads start.
        with contextlib.suppress(ImportError):
            importlib.import_module("IPython")
    return {name: makers[name] for name in names}


class Dashboards:
    """Report to several dashboards without delaying training.

    Args:
        makers: Factory of each dashboard's reporter, by name.
        reported: Updates that a resumed run reported before it was interrupted. It repeats those
            after its checkpoint with the same figures.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Reporter]], reported: int = 0) -> None:
        self._reported = reported
        self._channels = [_Channel(name, make) for name, make in makers.items()]
        self._rows: list[list[object]] = []
        self._last: Moment | None = None

    def on_rollout(self, event: RolloutEvent) -> None:
        """Keep sample episodes of a step until it is logged."""
        if self._channels:
            self._rows = sample_turns(event.step, event.trajectories)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Connect, once; after a rollback the same dashboards are used."""
        if self._last is not None:  # After a rollback, repeated steps have other figures.
            self._reported = state.global_step
        # Copies, because a dashboard's thread reads them while training continues.
        self._last = (args, copy.copy(state), copy.copy(control))
        self._tell(lambda r, *event: r.on_train_begin(*event, model=kwargs.get("model")))

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Pass on figures, and the sample episodes."""
        if not state.is_world_process_zero:
            return
        self._last = (args, copy.copy(state), copy.copy(control))
        figures, rows, step = dict(logs or {}), self._rows, state.global_step
        model, self._rows = kwargs.get("model"), []
        is_reported = step <= self._reported
        self._tell(lambda r, *event: r.on_log(*event, logs=figures, model=model), is_reported)
        if rows and not is_reported:  # No dashboard can overwrite a table.
            self._tell(lambda r, *_: r.table(rows, step))

    def figures(self, updates: int, **values: float) -> None:
        """Pass on figures that no step logs, such as those of a validation.

        Args:
            updates: Number of policy updates that the figures belong to.
            **values: The figures, by name.
        """
        if self._last is None:
            return
        args, state, control = self._last
        state = copy.copy(state)
        state.global_step = updates
        self._last = (args, state, control)
        is_reported = updates <= self._reported
        self._tell(lambda r, *event: r.on_log(*event, logs=values), is_reported)

    def close(self) -> None:
        """Finish, and wait a bounded time for the dashboards to process their messages."""
        self._tell(lambda r, *event: r.on_train_end(*event))
        for channel in self._channels:
            channel.close()

    def _tell(self, message: Callable[..., object], is_reported: bool = False) -> None:
        """Send a message about the present state through every channel.

        A message that is ``is_reported`` only goes to dashboards that can overwrite it.
        """
        event = self._last
        if event is None:
            return

        def tell(reporter: Reporter) -> None:
            if reporter.purges or not is_reported:
                message(reporter, *event)

        for channel in self._channels:
            channel.send(tell)


class _Channel:
    """One dashboard and its thread; after a failure it gets no more messages."""

    def __init__(self, name: str, make: Callable[[], Reporter]) -> None:
        self._name, self._make = name, make
        self._queue: Queue[Callable[[Reporter], object] | None] = Queue()
        self._is_open = True
        # A daemon, so that a hanging dashboard does not keep the interpreter alive.
        self._thread = threading.Thread(target=self._work, name=f"to {name}", daemon=True)
        self._thread.start()

    def send(self, message: Callable[[Reporter], object]) -> None:
        """Queue a message; messages are processed in order."""
        if self._is_open:
            self._queue.put(message)

    def close(self) -> None:
        """End the thread, once its queue is processed."""
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._lose(f"it has not answered for {CLOSE_SECONDS:g} s")

    def _work(self) -> None:
        """Process messages until the end, or until one fails."""
        try:
            reporter = self._make()
            while (message := self._queue.get()) is not None:
                message(reporter)
        except Exception as error:
            self._lose(str(error).strip().split("\n")[0] or type(error).__name__)

    def _lose(self, reason: str) -> None:
        """Drop the dashboard, with one warning."""
        if not self._is_open:
            return
        self._is_open = False
        logger.warning(
            "%s gets no more metrics, and training continues: %s; all metrics are in metrics.jsonl",
            self._name, reason,
        )  # fmt: skip


def sample_turns(step: int, trajectories: Sequence[Trajectory]) -> list[list[object]]:
    """Return the turns of the best and of the worst episode of a step's first group, as rows."""
    group = [t for t in trajectories if t.turns and t.stop_reason != StopReason.ERROR.value]
    group = [t for t in group if t.group == group[0].group]
    ranked = sorted(group, key=lambda t: -t.episode_return)  # stable: the first of equal episodes
    samples = ranked[:1] if len(ranked) < 2 else [ranked[0], ranked[-1]]
    return [
        [
            step, trajectory.task_id, number, turn.observation[:CELL], turn.text[:CELL],
            turn.reward, " ".join(f"{name}={part:g}" for name, part in turn.reward_terms.items()),
        ]
        for trajectory in samples
        for number, turn in enumerate(trajectory.turns, 1)
    ]  # fmt: skip


def _cell(value: object) -> str:
    """Write a value into a cell of a Markdown table."""
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", "<br>")
