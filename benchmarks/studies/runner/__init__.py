"""The runner of studies: parallel runs, cached by their settings, and their results."""
