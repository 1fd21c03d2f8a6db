"""ALFWorld: household tasks in text, on an engine of our own or on the original."""
