"""Option groups, brands and noise words that the departments share."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.schema import OptionGroup, words

COLOR = OptionGroup(
    "color",
    words(
        "black, charcoal, white, ivory, navy, royal blue, teal, turquoise, olive, forest green,"
        "burgundy, wine, coral, peach, lavender, lilac, silver, gold, beige, taupe"
    ),
    alike=(
        ("black", "charcoal"),
        ("white", "ivory"),
        ("navy", "royal blue"),
        ("teal", "turquoise"),
        ("olive", "forest green"),
        ("burgundy", "wine"),
        ("coral", "peach"),
        ("lavender", "lilac"),
        ("silver", "gold"),
        ("beige", "taupe"),
    ),
)
GARMENT_SIZE = OptionGroup(
    "size",
    words("extra small, petite, medium, tall, broad, oversize"),
    alike=(("extra small", "petite"), ("tall", "broad", "oversize")),
)
SHOE_SIZE = OptionGroup("size", words("6, 7, 8, 9, 10, 11, 12"), alike=(("6", "7"), ("9", "10")))
FIT = OptionGroup("fit type", words("regular, athletic, generous"))
STYLE = OptionGroup(
    "style",
    words("plain, striped, floral, gingham, dotted, quilted"),
    alike=(("striped", "gingham"), ("floral", "dotted")),
)
DESIGN = OptionGroup(
    "style",
    words("modern, cottage, industrial, coastal, farmhouse, nordic"),
    alike=(("modern", "industrial"), ("cottage", "farmhouse")),
)
SCENT = OptionGroup(
    "scent",
    words("unscented, citrus, patchouli, eucalyptus, vanilla, thyme, cedar, jasmine"),
    alike=(("patchouli", "cedar"), ("eucalyptus", "thyme")),
)
VOLUME = OptionGroup(
    "size",
    words("30 ml, 50 ml, 100 ml, 200 ml, 400 ml"),
    alike=(("30 ml", "50 ml"), ("200 ml", "400 ml")),
)
COUNT = OptionGroup(
    "count",
    words("one piece, twin set, trio, half dozen, bulk carton"),
    alike=(("twin set", "trio"),),
)
LENGTH = OptionGroup(
    "length",
    words("three feet, six feet, ten feet, twenty feet"),
    alike=(("ten feet", "twenty feet"),),
)
CAPACITY = OptionGroup(
    "capacity", words("32 gb, 64 gb, 128 gb, 256 gb, 512 gb"), alike=(("128 gb", "256 gb"),)
)
EDITION = OptionGroup(
    "edition",
    words("starter, regular, advanced, studio, limited"),
    alike=(("starter", "regular"), ("advanced", "studio")),
)
FLAVOR = OptionGroup(
    "flavor name",
    words(
        "dark chocolate, peanut, lemon ginger, wild berry, sea salt, original, spicy tomato,"
        "cinnamon, mango, maple pecan"
    ),
    alike=(("dark chocolate", "maple pecan"), ("wild berry", "mango")),
)
WEIGHT = OptionGroup(
    "weight",
    words("quarter pound, half pound, single pound, double pound, five kilos"),
    alike=(("quarter pound", "half pound"),),
)
PANEL = OptionGroup(
    "panel size",
    words("square, runner, oval, doorway, banquet"),
    alike=(("square", "oval"),),
)

BRANDS = words(
    "Velomar, Karimsan, Nordaven, Zanorly, Lypotem, Quatrifield, Venholbrook, Marsanor, Tembrooka,"
    "Fizanlo, Surdelwick, Mobritone, Havenpell, Ostramil, Pellagrin, Rovanta, Sylbrook, Tavernik,"
    "Umbralis, Wexcombe, Yorvella, Zephrane, Aldermuth, Brixano, Corvessa, Dunmarlo, Eskadine,"
    "Farrowen, Gildrake, Hollvane, Isenmoor, Jorvaska, Kestrano, Lindquell, Mirevant, Nestorly"
)
NOISE = words(
    "Premium, Everyday, Essential, Signature, Original, Ultimate, Trusted, Favorite, Improved,"
    "Popular, Superior, Genuine, Select, Newest"
)
USES = words(
    "for daily use, for the weekend, for gifting, for beginners, for busy days, for families,"
    "for home and away, for all seasons, for small budgets, for long days"
)
