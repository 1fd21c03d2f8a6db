"""The closed vocabulary of ``easy``: single words shared by all types, for small models."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    OptionGroup,
    ProductType,
    ShopVocabulary,
    attributes,
    words,
)

COLOR = OptionGroup("color", words("black, white, navy, olive, teal, coral, ivory, gold"))
SIZE = OptionGroup("size", words("small, medium, large, petite, huge"))
SHAPE = OptionGroup("shape", words("boxy, curved, oval, square, arched"))
LENGTH = OptionGroup("length", words("short, middle, long, endless, brief"))
FLAVOR = OptionGroup("flavor", words("ginger, berry, mango, vanilla, cocoa, mint, apple, maple"))
PACK = OptionGroup("pack", words("single, double, triple, dozen, bulk"))

VISIBLE = attributes(
    "\n".join(
        words(
            "premium, classic, mini, giant, deluxe, basic, ultra, vintage, modern, rustic, bold,"
            "soft, firm, heavy, smart, pocket, travel, family, junior, sturdy, slim, cozy, tall,"
            "quiet"
        )
    )
)
HIDDEN = attributes(
    "\n".join(
        words(
            "organic, certified, recycled, vegan, durable, imported, patented, tested, insured,"
            "sealed, handmade, washable"
        )
    )
)


def _department(category: str, root: str, names: str, *groups: OptionGroup) -> Department:
    types = (ProductType(name, f"{name} aisle", groups, (15, 65)) for name in words(names))
    return Department(category, root, tuple(types), VISIBLE, HIDDEN)


TINY = ShopVocabulary(
    name="tiny",
    departments=(
        _department("fashion", "fashion", "hiking boots, dress shirt, tote bag", COLOR, SIZE),
        _department("garden", "home", "desk lamp, area rug, bar stool", COLOR, SHAPE),
        _department("electronics", "tech", "usb hub, phone case, music speaker", COLOR, LENGTH),
        _department("grocery", "pantry", "protein bars, herbal tea, pasta sauce", FLAVOR, PACK),
    ),
)
