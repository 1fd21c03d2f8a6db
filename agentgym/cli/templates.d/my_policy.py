"""My policy: it takes an admissible action that it has not taken yet."""

import random


class MyPolicy:
    """Anything with act(observation, info) is a policy; the other methods are optional.

    Args:
        tries: How often it may take the same action; --policy-kwargs tries=2 sets it.
    """

    def __init__(self, tries=1):
        self.tries = tries
        self._random = random.Random(0)
        self._history = []

    def seed(self, seed):
        """Take the seed of the next episode."""
        self._random = random.Random(seed)

    def reset(self, observation, info):
        """Begin an episode with its first observation."""
        self._history = []

    def copy(self):
        """Return another one for an episode that is played at the same time."""
        return MyPolicy(self.tries)

    def act(self, observation, info):
        """Return an action as text.

        Args:
            observation: What the environment says.
            info: What a policy may know: goal, turn, horizon, action_valid, tools (schemas) and
                admissible_actions (a sample, perhaps empty).
        """
        actions = info["admissible_actions"] or ["look"]
        fresh = [action for action in actions if self._history.count(action) < self.tries]
        self._history.append(self._random.choice(fresh or actions))
        return self._history[-1]
