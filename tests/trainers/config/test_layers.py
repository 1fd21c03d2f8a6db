from __future__ import annotations

from trainers.config.layers import FAMILY, PRESET, Layer, merge_layers


def test_the_first_layer_that_says_something_decides_and_is_named() -> None:
    explicit = {"steps": None, "rl": {"groups": 4, "beta": None, "refill": None}, "seed": 0}
    layers = [
        Layer(PRESET, {"steps": None, "rl": {"groups": 8, "beta": 0.0}}),
        Layer(FAMILY, {"steps": 20, "rl": {"beta": 0.5, "refill": 2}}),
    ]
    settings, sources = merge_layers(explicit, layers)
    assert settings == {"steps": 20, "rl": {"groups": 4, "beta": 0.0, "refill": 2}, "seed": 0}
    assert sources == {"steps": FAMILY, "rl.beta": PRESET, "rl.refill": FAMILY}
    assert explicit["rl"] == {"groups": 4, "beta": None, "refill": None}, "nothing given is changed"
