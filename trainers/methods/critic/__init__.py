"""A critic: values of tokens or turns, which advantages are estimated with."""
