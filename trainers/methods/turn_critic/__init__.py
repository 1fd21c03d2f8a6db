"""Critics of turns: they score actions that the policy could have taken in a state."""
