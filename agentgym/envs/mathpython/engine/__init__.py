"""Parse untrusted mathematics, and decide whether two answers are equivalent."""
