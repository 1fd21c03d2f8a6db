"""Refill (dynamic sampling): groups without a learning signal are replaced by others."""
