"""The words that generated shops are made of; all invented for this project."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.beauty import BEAUTY
from agentgym.envs.webshop.generator.vocabulary.common import BRANDS, NOISE, USES
from agentgym.envs.webshop.generator.vocabulary.electronics import ELECTRONICS
from agentgym.envs.webshop.generator.vocabulary.fashion import FASHION
from agentgym.envs.webshop.generator.vocabulary.grocery import GROCERY
from agentgym.envs.webshop.generator.vocabulary.home import HOME
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Attribute,
    Department,
    OptionGroup,
    ProductType,
    Vocabulary,
)
from agentgym.envs.webshop.generator.vocabulary.tiny import TINY

FULL = Vocabulary("full", (FASHION, BEAUTY, ELECTRONICS, HOME, GROCERY), BRANDS, NOISE, USES)

VOCABULARIES = {"tiny": TINY, "full": FULL}

__all__ = [
    "FULL",
    "TINY",
    "VOCABULARIES",
    "Attribute",
    "Department",
    "OptionGroup",
    "ProductType",
    "Vocabulary",
]
