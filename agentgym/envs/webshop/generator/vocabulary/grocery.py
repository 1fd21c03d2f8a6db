"""Grocery."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.common import COUNT, FLAVOR, WEIGHT
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    ProductType,
    attributes,
)

_POOL = attributes("""
gluten free: fine for celiacs | without wheat
non gmo: from unmodified seeds | without gene technology
dairy free: without milk | for the lactose intolerant
soy free: without tofu beans | no soja
plant based: without meat or eggs | purely from crops
low sodium: with little salt | for high blood pressure
keto friendly: with hardly any carbs | for a ketogenic diet
certified organic: with an eco seal | from inspected farms
nut free: safe without almonds | made apart from hazels
high protein: for building muscles | good after training
natural dyes: colored by beet and turmeric | no painted food
individually wrapped: each in its own foil | in single portions
resealable bag: to be closed again | that stay fresh after opening
stone ground: milled the old way | from a slow mill
real fruit: with berries one can see | from the orchard
kosher approved: blessed by a rabbi | fit for jewish kitchens
shelf stable: that keep for years | for the emergency cupboard
caffeine free: that let you sleep | good in the evening
simple ingredients: with a short list of contents | five things inside
fair trade: that pay farmers well | ethically bought
slow roasted: browned with patience | long in the oven
small batch: made a few at a time | from a tiny kitchen
added fiber: good for digestion | with roughage
sugar reduced: not so sweet | for diabetics
""")

GROCERY = Department(
    "grocery",
    "Food",
    (
        ProductType("protein bars", "Bars", (FLAVOR, COUNT), (8, 45), ("fitness snacks",)),
        ProductType("herbal teas", "Tea", (FLAVOR, WEIGHT), (5, 30), ("infusions to brew",)),
        ProductType("pasta sauces", "Sauces", (FLAVOR, COUNT), (4, 28), ("noodle toppings",)),
        ProductType("trail mixes", "Nuts", (FLAVOR, WEIGHT), (6, 38), ("hiker nibbles",)),
        ProductType("ground coffees", "Coffee", (FLAVOR, WEIGHT), (8, 48), ("espresso powder",)),
        ProductType("granola cereals", "Breakfast", (FLAVOR, WEIGHT), (5, 36), ("muesli",)),
        ProductType("rice crackers", "Crackers", (FLAVOR, COUNT), (4, 26), ("crispy wafers",)),
        ProductType("fruit jams", "Spreads", (FLAVOR, WEIGHT), (5, 28), ("marmalades",)),
    ),
    _POOL,
    _POOL,
)
