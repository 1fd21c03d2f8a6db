"""The native engine: a household parsed once, its states, and what commands do to them."""
