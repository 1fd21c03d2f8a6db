"""The words that generated shops are made of; all invented for this project."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.full import FULL
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Attribute,
    Department,
    OptionGroup,
    ProductType,
)
from agentgym.envs.webshop.generator.vocabulary.tiny import TINY

VOCABULARIES = {"tiny": TINY, "full": FULL}

__all__ = ["VOCABULARIES", "Attribute", "Department", "OptionGroup", "ProductType"]
