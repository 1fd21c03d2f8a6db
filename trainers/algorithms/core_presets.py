"""Papers as data: each preset names the parts that make up one published method.

These need nothing of ``trainers.methods``, whose folders bring presets of their own.
"""

from __future__ import annotations

from trainers.algorithms.advantage import Term, Whiten
from trainers.algorithms.filters import (
    HarnessEndings,
    TopVariance,
    ZeroVariance,
)
from trainers.algorithms.loss import Loss
from trainers.algorithms.preferences import Preference
from trainers.algorithms.preset import Preset
from trainers.algorithms.schedule import Stages
from trainers.algorithms.shaping import INVALID, FlagPenalty, Overlong
from trainers.algorithms.signals import EpisodeReturn, KLToGo, RewardToGo, Solved, StepReward

_Z = Term(EpisodeReturn(), center="group", scale="group")
_LOO = Term(EpisodeReturn(), center="group", leave_one_out=True)
_CLIP = Loss(high=0.2)
_SEQ_MEAN = Loss(high=0.2, aggregation="seq-mean-token-mean")

TURN_LOO = Preset(
    "turn-loo",
    "agentgym default: turn-level return-to-go with a zero-padded leave-one-out baseline",
    None,
    (Term(RewardToGo(), center="turn_index_padded", leave_one_out=True),),
    filters=(ZeroVariance(level="turn"),),
    note="Episodes that run out of turns or tokens are failures of the policy and are trained "
    "on: leaving them out would bias the gradient, and so would dropping groups of equal "
    "outcome, hence ZeroVariance at turn level.",
)
"""The default."""
CORE_PRESETS = (
    TURN_LOO,
    Preset(
        "scalinginter",
        "AgentGym-RL: ScalingInter-RL",
        "2509.08755",
        (_Z,),
        loss=Loss(high=0.2, aggregation="seq-mean-token-mean", kl_beta=1e-3, entropy=1e-3),
        horizon=Stages((5, 8, 10), 100),
        num_generations=8,
        minibatches=4,
        note="The paper's score is the reward of the last step; here the rewards of all turns "
        "count, so that turn-level rewards act; the two agree if only the last turn is rewarded. "
        "Stages and updates (batches of 32 tasks in parts of 8) are those of its search task; "
        "its scripts ask for a second pass, which its code never makes.",
    ),
    Preset(
        "starpo-s-grpo",
        "RAGEN: StarPO-S, without a critic",
        "2504.20073",
        (_Z,),
        loss=Loss(aggregation="seq-mean-token-mean", entropy=1e-3),
        filters=(TopVariance(0.25),),
        shapers=(FlagPenalty(INVALID, -0.1),),
        num_generations=16,
        groups=8,
        minibatches=4,
        note="StarPO-S in its GRPO form.",
    ),
    Preset(
        "grpo",
        "DeepSeekMath: group relative policy optimisation",
        "2402.03300",
        (_Z,),
        loss=Loss(high=0.2, aggregation="seq-mean-token-mean", kl_beta=0.04),
        note="One update per batch (section 4.2), so that the clip never acts. The paper's groups "
        "of 64 are left to --rl.num-generations.",
    ),
    Preset(
        "dr_grpo",
        "Understanding R1-zero-like training: Dr.GRPO",
        "2503.20783",
        (Term(EpisodeReturn(), center="group"),),
        loss=Loss(high=0.2, aggregation="const"),
        num_generations=8,
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
        "expert-iteration",
        "Expert iteration: imitation of the policy's own solved episodes, without a baseline",
        "2403.04642",
        (Term(Solved()),),
        note="A round is one batch and one update. The paper, RFT and AgentEvol collect a round "
        "and begin anew with it and the demonstrations: --sft.rounds.",
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
        reward_hooks=("tool_bonus=0.1",),
        minibatches=4,
        note="Batches of 64 tasks in parts of 16, as in a released script. Tasks are filtered by "
        "the pass rates of the run itself.",
    ),
    Preset(
        "reinforce++",
        "REINFORCE++",
        "2501.03262",
        (Term(RewardToGo()), Term(KLToGo(), weight=-0.01)),
        post=Whiten(eps=1e-8),
        loss=_CLIP,
        num_generations=1,
        groups=128,
        minibatches=8,
        note="One response to a prompt; the authors' script updates on 128 of 1,024 at a time.",
    ),
    Preset(
        "reinforce++-baseline",
        "REINFORCE++ with a group baseline",
        "2501.03262",
        (Term(EpisodeReturn(), center="group"),),
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
        (Term(EpisodeReturn(), center="group"), Term(RewardToGo(0.95), center="state")),
        loss=_SEQ_MEAN,
        shapers=(FlagPenalty("invalid_action", -0.1),),
        num_generations=8,
        minibatches=8,
        note="F = 1, the paper's variant without deviations; turns in a state of their own get 0. "
        "The released code updates on 256 turns at a time: about an eighth of 16 x 8 episodes.",
    ),
    Preset(
        "mt-grpo",
        "Reinforcing multi-turn reasoning: MT-GRPO",
        "2505.11821",
        (
            Term(EpisodeReturn("final"), center="group", scale="group"),
            Term(StepReward(), center="turn_index", scale="turn_index", where="non_final"),
        ),
        loss=_SEQ_MEAN,
        num_generations=21,
        num_iterations=2,
        note="Compares only members that have not ended, which is biased when the policy chooses "
        "when to stop. "
        "Its turn rewards by a judge are --reward-hooks judge:model=NAME,url=URL.",
    ),
    Preset(
        "dpo",
        "Direct preference optimisation between the best and the worst episode of a group",
        "2305.18290",
        (Term(Preference(nll=0.0)),),
        loss=Loss(clip="none", aggregation="seq-mean-token-sum"),
        note="Its pairs are whole episodes that the policy plays during training, ranked by "
        "return; the paper uses a data set of human preferences. The reference is the initial "
        "policy. The gradient is that of TRL's DPOTrainer; one update a batch, so that each "
        "pair is used once.",
    ),
    Preset(
        "matpo",
        "Multi-agent tool-integrated policy optimisation: planner and workers in one model",
        "2510.04678",
        (_Z,),
        loss=_SEQ_MEAN,
        worker_turns=5,
        num_generations=8,
        note="All rows of an episode, the planner's and those of its workers, have its advantage, "
        "and episodes count alike however many workers they had. Groups of 8 and one update, as in "
        "the released script. There a worker also reads the user's question; here it reads the "
        "planner's words and the last observation, and its last turn is its summary. A planner "
        "may act itself, which the paper leaves to workers. The number of turns of a worker is "
        "agentgym's choice.",
    ),
    Preset(
        "loop",
        "Reinforcement learning for long-horizon interactive LLM agents: LOOP",
        "2502.01600",
        (_LOO,),
        loss=Loss(high=0.28, dead_zone=0.01),
        filters=(HarnessEndings(),),
        num_generations=6,
        groups=40,
        minibatches=4,
        note="40 tasks x 6 rollouts (appendix D). Several updates per batch distinguish it from "
        "RLOO; the "
        "paper does not say how many.",
    ),
    Preset(
        "lightning",
        "Agent Lightning: LightningRL",
        "2508.03680",
        (_Z,),
        loss=_SEQ_MEAN,
        note="For agents that own their loop (--agent): each call is a transition, with the return "
        "of its episode normalised in the group of the task. Episodes have equal weight, however "
        "many calls they make, as in its release 1. With --rl.aggregation turn-mean calls have "
        "equal weight, so an agent that makes more calls when it fails trains mostly on failures.",
    ),
)
"""The presets in the order in which they are listed."""
