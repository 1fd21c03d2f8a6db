"""Electronics."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.common import CAPACITY, COLOR, EDITION, LENGTH
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    ProductType,
    attributes,
)

_POOL = attributes("""
fast charging: full again within the hour | that power up rapidly
noise cancelling: that mute the office | for silence on planes
wireless pairing: without any cords | that connect through the air
high resolution: sharp to the last pixel | crisp
gold plated: with contacts that never rust | with precious connectors
hands free: that leave both arms idle | to be used while driving
extended battery: that run for days | with plenty of stamina
water resistant: fine in a drizzle | that survive splashes
dust proof: for the workshop | closed against sand
tempered glass: with a hardened pane | scratch proof in front
carrying pouch: with a bag to take along | that come in a sleeve
quad core: with four processors | with a strong chip
dual band: on both frequencies | on two radio channels
stereo sound: with left and right channel | spatial to the ear
wall mounted: to be hung up | that save desk room
aluminum shell: in light metal | with a metallic body
motion detection: that notice movement | that wake when someone passes
voice assistant: that listen to commands | to be talked to
parental lock: safe for kids | which children cannot change
memory slot: with room for a card | with expandable storage
magnetic mount: that snap onto steel | held by magnets
braided cord: with textile around the wire | with woven leads
night vision: that see in the dark | with infrared
solar powered: fed by daylight | off the grid
""")

ELECTRONICS = Department(
    "electronics",
    "Electronics",
    (
        ProductType(
            "bluetooth speakers", "Portable Audio", (COLOR, EDITION), (18, 180), ("boom boxes",)
        ),
        ProductType(
            "hdmi cables", "Video Leads", (LENGTH, COLOR), (6, 40), ("monitor connection leads",)
        ),
        ProductType(
            "security cameras", "Surveillance", (COLOR, EDITION), (25, 220), ("burglar watchers",)
        ),
        ProductType("phone cases", "Phone Gear", (COLOR, EDITION), (7, 38), ("smartphone covers",)),
        ProductType(
            "tablet stands", "Desk Gear", (COLOR, EDITION), (10, 55), ("easel for an ipad",)
        ),
        ProductType("usb hubs", "Port Gear", (LENGTH, EDITION), (9, 65), ("port multipliers",)),
        ProductType("headphones", "Head Audio", (COLOR, EDITION), (20, 260), ("ear cups",)),
        ProductType(
            "flash drives", "Storage", (CAPACITY, COLOR), (6, 80), ("pocket memory sticks",)
        ),
    ),
    _POOL,
    _POOL,
)
