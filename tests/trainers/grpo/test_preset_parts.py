"""No part of a preset is decoration: without it, the gradient or the run is another."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from agentgym.vector import TextVectorEnv
from tests.toy import TOY_ID, ToyEnv
from tests.trainers.grpo.helpers import EASY, make_trainer, reloaded_model, step_context
from trainers.algorithms.advantage import Term, Whiten
from trainers.algorithms.filters import ZeroVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset, runnable
from trainers.algorithms.schedule import Stages
from trainers.algorithms.shaping import EndPenalty
from trainers.algorithms.signals import EpisodeReturn
from trainers.config.resolve import _decide
from trainers.config.resolved_environments import resolve_envs
from trainers.config.schema import TrainConfig
from trainers.grpo.advantages import assign_credit, loss_columns
from trainers.methods.critic.critic import CriticSettings, make_critic
from trainers.methods.forks.branching import Branching, EveryTurn
from trainers.methods.forks.forked_episodes import ForkedEpisodes
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.scoring.tensors import row_tensors, sampled_mask, scatter_tokens
from trainers.rollouts.trajectory import Trajectory, to_rows

BUDGET = TokenBudget(turn_tokens=4, episode_tokens=42, context=160)
GROUPS, TURNS = 5, 4


class Varied(ToyEnv):
    """Groups of every kind: of unlike rewards, nearly equal ones, and equal ones."""

    _paid = 0

    def _act(self, action: str) -> Any:
        outcome = super()._act(action)
        kind, size = EASY.index(self.task.index) % GROUPS, len(action)
        second = self.turn >= 1
        outcome.terms, outcome.terminated = None, second and size % 2 == 0
        if kind == 4:  # Equal at every turn.
            outcome.reward, outcome.terminated = 0.5, second
        elif kind == 3:  # Equal in the end only.
            self._paid = size % 2 if not second else 1 - self._paid
            outcome.reward, outcome.terminated = float(self._paid), second
        elif kind == 2:
            outcome.reward = 0.0005 * (size % 3)
        else:
            outcome.reward, outcome.terminated = (size % 5) / 5, second and size % 4 == 0
        return outcome


@pytest.fixture(autouse=True)
def accelerate_state() -> None:
    """Set the state that accelerators share: arguments that other tests make have unset it."""
    Accelerator(cpu=True)


@cache
def maker() -> Any:
    """A trainer of varied episodes."""
    folder = Path(tempfile.mkdtemp())
    trainer = make_trainer(
        folder,
        reloaded_model(folder / "start"),
        preset="rloo",
        args={"groups": GROUPS, "group_size": 8, "minibatches": 2},
        envs=TextVectorEnv([Varied] * 40),
        budget=BUDGET,
        full_horizon=TURNS,
        horizon=TURNS,
        probe_every=0,
    )
    return trainer


def disturbed(trainer: Any, scale: float, seed: int) -> dict[str, Any]:
    """Weights near those of a model."""
    random = torch.Generator().manual_seed(seed)
    return {
        name: value + scale * torch.randn(value.shape, generator=random)
        for name, value in trainer.model.state_dict().items()
    }


@cache
def play_episodes(forked: bool = False) -> tuple[list[Trajectory], dict[str, Any]]:
    """Episodes of a policy, and their rows with its log-probabilities and a reference's."""
    trainer = maker()
    trainer.model.load_state_dict(disturbed(trainer, 0.0, 0))
    branching = Branching(EveryTurn(), roots=4) if forked else None
    trainer.preset = replace(trainer.preset, branching=branching, pool=None)
    trainer.parts = [ForkedEpisodes(step_context(trainer.model, trainer.preset))] if forked else []
    episodes = trainer.play_groups(1, 8 * GROUPS)
    rows = row_tensors(to_rows(episodes), 0, torch.device("cpu"))
    start = disturbed(trainer, 0.0, 0)
    rows["old_per_token_logps"] = trainer._forward.logps(trainer.model, rows)
    trainer.model.load_state_dict(disturbed(trainer, 0.05, 1))
    rows["ref_per_token_logps"] = trainer._forward.logps(trainer.model, rows)
    trainer.model.load_state_dict(start)
    return episodes, rows


def gradient(preset: Preset) -> torch.Tensor:
    """What the trainer's loss would change after a few updates have moved the policy."""
    episodes, rows = play_episodes(preset.branching is not None)
    mask = sampled_mask(rows)
    packed = {name: rows[f"{name}_per_token_logps"][mask] for name in ("old", "ref")}
    old, reference = (packed[name].double().numpy() for name in ("old", "ref"))
    trainer = maker()
    trainer.preset = preset.within(trainer.runner.budget.action_tokens(trainer.full_horizon))
    values = np.random.default_rng(3).normal(size=len(old))
    turns = sum(len(episode.turns) for episode in episodes)
    judged = dict(zip("qv", np.random.default_rng(4).normal(size=(2, turns)), strict=True))
    aux = {"logp_ref": reference, "logp_prm": old + values, **judged}
    credit = assign_credit(episodes, trainer.preset, aux=aux, logp_old=old, values=values)
    columns = loss_columns(credit, trainer.preset.loss, several_updates=True)
    trainer.parts = []
    if "critic" in preset.needs:  # In a shared trunk all that it learns by acts on the policy.
        context = trainer._context(trainer.model, trainer.runner.chat, False)
        critic = make_critic(context, CriticSettings(trunk="shared"))
        torch.nn.init.normal_(critic._head.weight, generator=torch.Generator().manual_seed(4))
        trainer.parts = [critic]
        columns |= {"old_values": values, **critic.credit_columns(credit).columns}
    inputs = {
        **rows,
        **{name: scatter_tokens(values, mask) for name, values in columns.items()},
        "tool_mask": rows["tool_mask"] * scatter_tokens(credit.train, mask),
        "num_items_in_batch": torch.tensor(int(credit.train.sum())),
    }
    start = disturbed(trainer, 0.0, 0)
    trainer.model.load_state_dict(disturbed(trainer, 0.03, 2))
    trainer.model.train()
    trainer.model.zero_grad()
    trainer._part_loss(trainer.model, inputs)[0].backward()
    vector = torch.cat([p.grad.flatten() for p in trainer.model.parameters()])
    trainer.model.load_state_dict(start)
    return vector


def test_the_episodes_have_what_the_parts_look_at():
    episodes, rows = play_episodes()
    reasons = {episode.stop_reason for episode in episodes}
    assert {"failure", "horizon", "token_limit"} <= reasons, reasons
    assert {turn.valid for episode in episodes for turn in episode.turns} == {True, False}
    drift = rows["old_per_token_logps"] - rows["ref_per_token_logps"]
    assert drift.abs().max() > 0.05


GUARDS = {"signal", "eps", "ddof"}
"""Fields of a term that are a part of their own, or only guard against a division by 0."""


def simpler(part: Any, skip: set[str] = frozenset()) -> Iterator[tuple[str, Any]]:
    """A part with each of its settings in turn as it is by default."""
    for item in fields(part):
        if item.default is dataclasses.MISSING or item.name in skip:
            continue
        if getattr(part, item.name) != item.default:
            changes = {item.name: item.default}
            if item.name == "center":
                changes["leave_one_out"] = False  # It needs a mean to leave something out of.
            yield item.name, replace(part, **changes)


def variants(preset: Preset) -> Iterator[tuple[str, Preset]]:
    """The preset with each of its parts in turn as it is by default."""
    if preset.post is not None:
        yield "post", replace(preset, post=None)
    for name, loss in simpler(preset.loss, {"behave"}):  # Who else acted: ELSEWHERE.
        yield f"loss.{name}", replace(preset, loss=loss)
    for kind in ("filters", "shapers", "terms"):
        parts = getattr(preset, kind)
        for k, part in enumerate(parts):
            label = f"{kind}[{k}]"
            if kind != "terms" or len(parts) > 1:
                yield label, replace(preset, **{kind: parts[:k] + parts[k + 1 :]})
            alternatives = [(name, new) for name, new in simpler(part, GUARDS)]
            if kind == "terms":
                alternatives += [
                    (f"signal.{name}", replace(part, signal=new))
                    for name, new in simpler(part.signal)
                ]
            for name, new in alternatives:
                changed = (*parts[:k], new, *parts[k + 1 :])
                yield f"{label}.{name}", replace(preset, **{kind: changed})


CASES = [(name, *case) for name in runnable() for case in variants(get_preset(name))]


@pytest.mark.parametrize(
    ("name", "part", "variant"), CASES, ids=[f"{name}-{part}" for name, part, _ in CASES]
)
def test_every_part_of_a_preset_changes_the_gradient(name, part, variant):
    gradient_before, gradient_after = gradient(get_preset(name)), gradient(variant)
    assert (gradient_after - gradient_before).norm() > 1e-5 * gradient_before.norm()


def test_a_dead_zone_and_a_clip_reach_the_gradient():
    plain_preset = get_preset("rloo")
    for loss in (
        replace(plain_preset.loss, dead_zone=0.01),
        replace(plain_preset.loss, low=1e-6, high=1e-6),
    ):
        assert not torch.equal(gradient(plain_preset), gradient(replace(plain_preset, loss=loss)))


# -- every field of a preset is carried out, or refused -------------------------------

BARE = Preset("bare", "", None, (Term(EpisodeReturn(), center="group"),))
OTHER: dict[str, Any] = {
    "terms": (Term(EpisodeReturn(), center="group", scale="group"),),
    "post": Whiten(),
    "loss": Loss(high=0.5),
    "filters": (ZeroVariance(),),
    "shapers": (EndPenalty(),),
    "horizon": Stages((2, 3), 4),
    "num_generations": 3,
    "groups": 5,
    "minibatches": 4,
    "num_iterations": 2,
    "sampler": "value",
    "reward_hooks": ("progressive=0.5",),
    "worker_turns": 3,
    "steps": 9_999,
    "beyond": ("judge",),
}
"""Another value of every part."""
DESCRIPTION = {"name", "title", "arxiv", "note", "instead", "omits"}
ELSEWHERE = {"branching", "pool", "refill"}
"""What methods carry out: ``methods/forks``, ``methods/cross_policy`` and ``methods/refill``."""


def test_another_value_of_every_field_is_tried():
    assert set(OTHER) | DESCRIPTION | ELSEWHERE == {item.name for item in fields(Preset)}


@pytest.mark.parametrize("field", OTHER)
def test_every_field_is_carried_out_or_refused(field):
    changed = replace(BARE, **{field: OTHER[field]})
    config = TrainConfig(env=TOY_ID)
    settings = []
    for preset in (BARE, changed):
        envs = resolve_envs(config, preset)
        decided = [(env.rounds, env.horizon_every, env.reward_hooks) for env in envs]
        settings.append((_decide(config, preset, envs).settings, decided))
    carried_out = settings[0] != settings[1] or not torch.equal(gradient(BARE), gradient(changed))
    assert carried_out != bool(changed.left_out)
