"""Fashion."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.common import (
    COLOR,
    FIT,
    GARMENT_SIZE,
    SHOE_SIZE,
    STYLE,
)
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    ProductType,
    attributes,
)

_POOL = attributes("""
moisture wicking: that keep sweat off the skin | which draw perspiration away
quick drying: that dry in no time | dry soon after washing
rubber trim: with grippy edges | finished with elastomer
arch support: kind to flat feet | good under the instep
button closure: that fasten with buttons | with a buttoned front
elastic waist: with a stretchy band | gentle around the belly
drawstring hem: with a cord at the bottom | that tie at the lower edge
reflective piping: seen by headlights | that shine back at night
zip pocket: with a place to lock keys in | with zippered storage
soft lining: plush inside | comfy on the inner side
wrinkle resistant: that need no ironing | crease proof
odor control: that stay fresh | that do not smell after sport
breathable mesh: airy and ventilated | that let air through
double stitched: with reinforced seams | sewn twice
recycled yarn: made from reused fibers | spun from old bottles
organic cotton: grown without pesticides | of natural untreated plants
tagless label: that do not itch at the neck | without scratchy tags
machine washable: fine in the washer | that survive laundry day
padded edge: cushioned along the border | with foam at the rim
fleece backing: warm on cold mornings | cozy in winter
stretch fabric: that give when you move | flexible cloth
wind blocking: that stop a stiff breeze | gale proof
sun protective: with uv shielding | against sunburn
stain repellent: that shrug off coffee | hard to soil
""")

FASHION = Department(
    "fashion",
    "Apparel",
    (
        ProductType(
            "hiking boots", "Trail Footwear", (COLOR, SHOE_SIZE), (45, 160), ("trekking footwear",)
        ),
        ProductType(
            "running shoes", "Sport Footwear", (COLOR, SHOE_SIZE), (35, 140), ("jogging trainers",)
        ),
        ProductType(
            "cardigan sweaters", "Knitwear", (COLOR, GARMENT_SIZE), (18, 70), ("knitted jackets",)
        ),
        ProductType(
            "dress shirts", "Office Wear", (COLOR, GARMENT_SIZE, FIT), (15, 65), ("formal tops",)
        ),
        ProductType(
            "rain coats", "Outerwear", (COLOR, GARMENT_SIZE), (20, 90), ("waterproof parkas",)
        ),
        ProductType(
            "yoga leggings", "Studio Wear", (COLOR, GARMENT_SIZE, STYLE), (12, 55), ("gym tights",)
        ),
        ProductType("wool socks", "Hosiery", (COLOR, SHOE_SIZE), (8, 30), ("thick stockings",)),
        ProductType("canvas totes", "Carriers", (COLOR, STYLE), (12, 48), ("shopper bags",)),
    ),
    _POOL,
    _POOL,
)
