"""Home and garden."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.common import COLOR, COUNT, DESIGN, PANEL
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    ProductType,
    attributes,
)

_POOL = attributes("""
easy assembly: put together in minutes | that need no tools
solid wood: of real timber | no veneer
space saving: for tiny flats | that take little room
stainless steel: that never rust | in brushed inox
memory foam: that adapt to the body | slowly rebounding
faux leather: that look like hide | with vegan upholstery
storage drawer: with a place for odds and ends | to keep things in
mid century: as in the fifties | retro
height adjustable: to be raised and lowered | for short and tall people
spot clean: to be wiped with a cloth | simple to care for
anti slip: that stay where they are | which do not slide
walnut finish: in a dark nutty tone | brown like nuts
bronze accents: with antique metal details | with coppery bits
weather proof: to be left outdoors | for the terrace
hand woven: made on a loom | plaited by craftsmen
noise dampening: that make a room quieter | that swallow echo
child safe: without sharp corners | good near toddlers
pet friendly: that cats leave alone | for dog owners
foldable frame: to be stowed flat | collapsible
cable outlet: with a hole for wires | for plugging things in
dimmable glow: with adjustable brightness | for moody evenings
blackout backing: that keep the sun out | for late sleepers
reversible sides: to be turned over | good on either face
fire retardant: that do not burn | safe near candles
""")

HOME = Department(
    "garden",
    "Home",
    (
        ProductType("accent chairs", "Seating", (COLOR, DESIGN), (70, 420), ("lounge armchairs",)),
        ProductType("bookshelves", "Shelving", (COLOR, DESIGN), (45, 300), ("library racks",)),
        ProductType("table lamps", "Lighting", (COLOR, DESIGN), (18, 140), ("bedside lights",)),
        ProductType("area rugs", "Flooring", (COLOR, PANEL), (25, 380), ("floor carpets",)),
        ProductType("window curtains", "Windows", (COLOR, PANEL, DESIGN), (14, 90), ("drapes",)),
        ProductType("bar stools", "High Seating", (COLOR, COUNT), (50, 320), ("counter seats",)),
        ProductType("throw pillows", "Bedding", (COLOR, COUNT), (9, 48), ("sofa cushions",)),
        ProductType("plant pots", "Planters", (COLOR, COUNT, DESIGN), (8, 60), ("flower tubs",)),
    ),
    _POOL,
    _POOL,
)
