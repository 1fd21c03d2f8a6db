"""The episode: commands, their parsing from text, their observations, and the session."""
