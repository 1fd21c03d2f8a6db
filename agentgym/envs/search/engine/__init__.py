"""The rules of a search episode: what an action means, what is shown, and what an answer earns."""
