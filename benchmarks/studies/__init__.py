"""Studies: questions that take many runs of the trainer, each told in one small file."""
