"""The native engine: a household parsed once, its states, and the effects of commands."""
