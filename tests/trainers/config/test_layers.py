from __future__ import annotations

from dataclasses import dataclass, field

from trainers.config.layers import DEFAULT, FAMILY, PRESET, Decisions, Layer


@dataclass(frozen=True)
class Section:
    groups: int | None = 4
    beta: float | None = None
    refill: int | None = None


@dataclass(frozen=True)
class Settings:
    steps: int | None = None
    rl: Section = field(default_factory=Section)
    seed: int = 0


LAYERS = (
    Layer(PRESET, {"steps": None, "rl": {"groups": 8, "beta": 0.0}}),
    Layer(FAMILY, {"steps": 20, "rl.beta": 0.5, "rl.refill": 2}),
)


def test_the_first_layer_that_says_something_decides_and_is_named() -> None:
    explicit = Settings()
    decisions = Decisions(explicit)
    decisions.fill(*LAYERS)
    assert decisions.settings == Settings(20, Section(4, 0.0, 2), 0)
    assert decisions.sources == {"steps": FAMILY, "rl.beta": PRESET, "rl.refill": FAMILY}
    assert explicit == Settings(), "nothing given is changed"


def test_a_decision_replaces_what_was_asked_for_and_is_named() -> None:
    decisions = Decisions(Settings())
    decisions.fill(*LAYERS)
    decisions.decide(DEFAULT, {"rl.groups": 2, "steps": None})
    assert decisions.settings == Settings(None, Section(2, 0.0, 2), 0)
    assert decisions.sources["rl.groups"] == decisions.sources["steps"] == DEFAULT
