"""My turn-level reward: a penalty for every word above a limit."""

from dataclasses import dataclass


@dataclass
class MyReward:
    """What is added to the reward of each turn: weight times what the call returns.

    Fields are set on the command line: --reward-hooks my_reward:MyReward:weight=0.1,free=4. Each
    needs a default.
    """

    weight: float = 0.01
    """Factor; a negative one makes a price of a reward."""
    free: int = 8
    """Words that cost nothing."""
    name: str = "my_reward"
    """What it is called in records and charts."""

    def __call__(self, context):
        """Return the value of a turn.

        Args:
            context: An agentgym.core.hooks.TurnContext: goal, action, valid, done, success,
                repeats, details, terms, training_step; and before and after, each with
                observation, turn, score, potential, state_key and oracle_turns.
        """
        return -float(max(0, len(context.action.split()) - self.free))

    def reset(self):
        """Forget the last episode; a reward that counts over turns does it here."""
