"""Papers as data: each preset names the parts that make up one published method.

A preset holds parts, not code; change one with `dataclasses.replace`. Learning rates and models
belong to the trainer's configuration; horizon, group size and the number of updates are the paper's
where it has one of its own, and give way to the command line. `runnable` tells which presets the
bundled trainer can run, `Preset.ignored` which of their parts it then leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from trainers.algorithms.advantage import Term, Whiten
from trainers.algorithms.batch import EndReason
from trainers.algorithms.filters import HarnessEndings, TopVariance, ZeroVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.recipe import Preset
from trainers.algorithms.sampling import EntropyBrancher, PolicyPool
from trainers.algorithms.schedule import Stages
from trainers.algorithms.shaping import EndPenalty, FlagPenalty, Overlong
from trainers.algorithms.signals import GAE, Implicit, KLToGo, Outcome, RewardToGo, StepReward

SERVES = ("reference",)
"""Keys of `NEEDS` the bundled trainer can serve."""


def runnable(available: Collection[str] = SERVES) -> list[str]:
    """Names of the presets whose needs are met.

    Args:
        available: Keys of `NEEDS` a trainer can serve; by default those of the bundled one.

    Returns:
        The names, in alphabetical order.
    """
    return sorted(name for name, preset in PRESETS.items() if not preset.missing(available))


def get_preset(name: str) -> Preset:
    """Looks up a preset, also one that the bundled trainer cannot run.

    Args:
        name: Its name; "default" is "turn-loo".

    Returns:
        The preset.

    Raises:
        ValueError: There is none of that name; the message says which there are, and which of
            them need more than the bundled trainer has.
    """
    key = DEFAULT if name == "default" else name
    if key not in PRESETS:
        raise ValueError(
            f"expected a preset of {', '.join(runnable())}, got {name!r}. Others need what the "
            f"bundled trainer does not have: {_unserved()}"
        )
    return PRESETS[key]


def _unserved() -> str:
    """The presets the bundled trainer cannot run, by what they need."""
    names: dict[str, list[str]] = {}
    for name in sorted(PRESETS):
        for need in PRESETS[name].missing(SERVES):
            names.setdefault(need, []).append(name)
    return "; ".join(f"{need}: {', '.join(names[need])}" for need in sorted(names))


DEFAULT = "turn-loo"
"""Name of the house recipe."""

_Z = Term(Outcome(), center="group", scale="group")
_LOO = Term(Outcome(), center="group", leave_one_out=True)
_CLIP = Loss(high=0.2)
_ROW_MEAN = Loss(high=0.2, aggregation="seq-mean-token-mean")
_KL = "reference"
_NO_REFILL = "Without refill, dropped groups make a step smaller. "
_NO_SAMPLER = "Instead of the {} sampler the task source chooses. "

_ALL = (
    Preset(
        DEFAULT,
        "agentgym default: turn-level return-to-go with a zero-padded leave-one-out baseline",
        None,
        (Term(RewardToGo(), center="turn_index_padded", leave_one_out=True),),
        filters=(HarnessEndings(masked=(EndReason.LENGTH,)), ZeroVariance(level="turn")),
        note="Running out of turns is a failure of the policy and trains; only the token budget "
        "is the harness's. ZeroVariance at turn level: dropping groups of equal outcome would bias "
        "this credit.",
    ),
    Preset(
        "scalinginter",
        "AgentGym-RL: ScalingInter-RL",
        "2509.08755",
        (Term(Outcome("final"), center="group", scale="group"),),
        loss=Loss(high=0.2, aggregation="seq-mean-token-mean", kl_beta=1e-3, entropy=1e-3),
        horizon=Stages((5, 8, 10), 100),
        group_size=8,
        minibatches=4,
        needs=(_KL,),
        note="The score is the reward of the last step. Stages and updates (batches of 32 tasks in "
        "parts of 8) are those of its search task; its scripts ask for a second pass, which its "
        "code never makes.",
    ),
    Preset(
        "agentrl",
        "AgentRL: multi-turn, multi-task agentic reinforcement learning",
        "2510.04206",
        (_Z,),
        post=Whiten("task", "task"),
        loss=Loss(high=0.2, dual=3.0, kl_beta=1e-4),
        shapers=(EndPenalty(-0.2),),
        sampler="interleaved",
        pool=PolicyPool(0.25, 25),
        group_size=8,
        needs=(_KL, "policy_pool"),
        note=_NO_SAMPLER.format("interleaved").strip(),
    ),
    Preset(
        "meowtea-ppo",
        "A practitioner's guide to multi-turn agentic RL: PPO with dense turn rewards",
        "2510.01132",
        (Term(GAE()), Term(KLToGo(), weight=-0.01)),
        post=Whiten(eps=1e-8),
        loss=_CLIP,
        group_size=1,
        needs=("critic", _KL),
        note="The critic's targets should hold the same KL penalty.",
    ),
    Preset(
        "starpo-s",
        "RAGEN: StarPO-S",
        "2504.20073",
        (Term(GAE()),),
        post=Whiten(eps=1e-8),
        loss=Loss(entropy=1e-3),
        filters=(TopVariance(0.25),),
        group_size=16,
        groups=8,
        minibatches=4,
        needs=("critic",),
        note="8 groups of 16 in parts of 32. Its bi-level option is Term(GAE(gamma_turn=0.95)).",
    ),
    Preset(
        "grpo",
        "DeepSeekMath: group relative policy optimisation",
        "2402.03300",
        (_Z,),
        loss=Loss(high=0.2, aggregation="seq-mean-token-mean", kl_beta=0.04),
        needs=(_KL,),
        note="One update per batch (section 4.2), so that the clip never acts. The paper's groups "
        "of 64 are left to --rl.group-size.",
    ),
    Preset(
        "dr_grpo",
        "Understanding R1-zero-like training: Dr.GRPO",
        "2503.20783",
        (Term(Outcome(), center="group"),),
        loss=Loss(high=0.2, aggregation="const"),
        group_size=8,
        minibatches=8,
        note="loss.const is the most action tokens a trajectory may have, see `Preset.within`. The "
        "released script updates on 128 of 128 x 8 responses at a time.",
    ),
    Preset(
        "rloo",
        "Back to basics: REINFORCE leave-one-out",
        "2402.14740",
        (_LOO,),
        loss=_CLIP,
        note="On-policy: one update per batch, so that the clip never acts.",
    ),
    Preset(
        "dapo",
        "DAPO: decoupled clip and dynamic sampling policy optimisation",
        "2503.14476",
        (_Z,),
        filters=(ZeroVariance(),),
        shapers=(Overlong(),),
        refill=True,
        group_size=16,
        minibatches=16,
        note=_NO_REFILL + "512 x 16 responses in parts of 512 (section 4.1). The filter looks at "
        "returns before the overlong punishment.",
    ),
    Preset(
        "grpo-tcr",
        "Demystifying reinforcement learning in agentic reasoning: GRPO-TCR",
        "2510.11701",
        (_Z,),
        loss=Loss(high=0.315),
        filters=(ZeroVariance(),),
        shapers=(Overlong(),),
        sampler="informative",
        minibatches=4,
        beyond=("tool bonus",),
        note=_NO_SAMPLER.format("informative") + "The tool bonus would be a hook of the "
        "environment. Batches of 64 tasks in parts of 16, as in a released script.",
    ),
    Preset(
        "reinforce++",
        "REINFORCE++",
        "2501.03262",
        (Term(RewardToGo()), Term(KLToGo(), weight=-0.01)),
        post=Whiten(eps=1e-8),
        loss=_CLIP,
        group_size=1,
        groups=128,
        minibatches=8,
        needs=(_KL,),
        note="One response to a prompt; the authors' script updates on 128 of 1,024 at a time.",
    ),
    Preset(
        "reinforce++-baseline",
        "REINFORCE++ with a group baseline",
        "2501.03262",
        (Term(Outcome(), center="group"),),
        post=Whiten(eps=1e-8),
        loss=_CLIP,
        minibatches=8,
        note="The authors' script updates on 128 of 1,024 responses at a time.",
    ),
    Preset(
        "gspo",
        "Group sequence policy optimisation",
        "2507.18071",
        (_Z,),
        loss=Loss("sequence", low=3e-4, high=4e-4, aggregation="seq-mean-token-mean"),
        minibatches=4,
        note="Four mini-batches (section 5).",
    ),
    Preset(
        "cispo",
        "MiniMax-M1: CISPO",
        "2506.13585",
        (_Z,),
        loss=Loss(clip="cispo", low=1.0, high=0.28),
        minibatches=16,
        note="No lower bound on the ratio, as in the paper, which does not publish its upper one. "
        "16 updates per batch (section 3.1).",
    ),
    Preset(
        "gigpo",
        "Group-in-group policy optimisation",
        "2505.10978",
        (Term(Outcome(), center="group"), Term(RewardToGo(0.95), center="state")),
        loss=_ROW_MEAN,
        shapers=(FlagPenalty("invalid_action", -0.1),),
        group_size=8,
        minibatches=8,
        note="F = 1, the paper's variant without deviations; turns in a state of their own get 0. "
        "The released code updates on 256 turns at a time: about an eighth of 16 x 8 episodes.",
    ),
    Preset(
        "mt-grpo",
        "Reinforcing multi-turn reasoning: MT-GRPO",
        "2505.11821",
        (
            Term(Outcome("final"), center="group", scale="group"),
            Term(StepReward(), center="turn_index", scale="turn_index", where="non_final"),
        ),
        loss=_ROW_MEAN,
        group_size=21,
        iterations=2,
        note="Compares living members only, which is biased when the policy chooses when to stop.",
    ),
    Preset(
        "mt-ppo",
        "Reinforcing multi-turn reasoning: MT-PPO",
        "2505.11821",
        (Term(GAE()), Term(KLToGo(), weight=-1e-3)),
        post=Whiten(eps=1e-8),
        loss=_CLIP,
        group_size=1,
        needs=("critic", _KL),
    ),
    Preset(
        "istar",
        "Agentic RL with implicit step rewards: iStar",
        "2509.19199",
        (_Z, Term(Implicit(0.05), center="group", scale="group")),
        loss=Loss("turn", high=0.2),
        group_size=8,
        needs=("prm",),
    ),
    Preset(
        "arpo",
        "Agentic reinforced policy optimisation: entropy-guided branching",
        "2507.19849",
        (_Z,),
        loss=_CLIP,
        brancher=EntropyBrancher(),
        group_size=16,
        needs=("branching",),
        note="Soft advantage: prefix tokens that branches share appear once in each of them.",
    ),
    Preset(
        "vspo",
        "Value-based sampling policy optimisation with progressive reward shaping",
        "2512.07478",
        (_Z,),
        loss=Loss(high=0.2, kl_beta=1e-3),
        filters=(ZeroVariance(),),
        sampler="value",
        refill=True,
        group_size=5,
        beyond=("progressive rewards", "value-smoothing clipping"),
        needs=(_KL,),
        note=_NO_REFILL + _NO_SAMPLER.format("value") + "The paper does not publish the formula of "
        "value-smoothing clipping; progressive rewards would be a hook of the environment.",
    ),
    Preset(
        "erpo",
        "AutoForge: environment-level relative policy optimisation",
        "2512.22857",
        (Term(Outcome(), center="group", scale="task"),),
        filters=(ZeroVariance(),),
        refill=True,
        beyond=("judge",),
        note=_NO_REFILL + "With a judge, add FlaggedTurns('judge_reject').",
    ),
    Preset(
        "loop",
        "Reinforcement learning for long-horizon interactive LLM agents: LOOP",
        "2502.01600",
        (_LOO,),
        loss=Loss(high=0.28, dead_zone=0.01),
        filters=(HarnessEndings(),),
        group_size=6,
        groups=40,
        minibatches=4,
        note="40 tasks x 6 rollouts (appendix D). Several updates per batch tell it from RLOO; the "
        "paper does not say how many.",
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
"""Every preset by name."""
