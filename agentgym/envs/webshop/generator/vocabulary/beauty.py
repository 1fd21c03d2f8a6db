"""Beauty."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.common import COLOR, COUNT, SCENT, STYLE, VOLUME
from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    ProductType,
    attributes,
)

_POOL = attributes("""
cruelty free: never tried on animals | kind to rabbits
paraben free: without synthetic preservatives | no nasty preserving agents
sulfate free: that barely foam | without harsh detergents
long lasting: that hold all day | good from dawn to dusk
sensitive skin: mild enough for easily irritated people | for those who redden quickly
tea tree: with melaleuca | with that antiseptic leaf
argan oil: with moroccan nut extract | with goat tree kernels
shea butter: with african nut fat | rich and buttery
vitamin c: with ascorbic acid | brightening
hyaluronic acid: that bind water in the face | plumping
aloe vera: with soothing succulent gel | with desert plant juice
travel size: fit for cabin luggage | that pass airport checks
leak proof: that never spill in a purse | tightly closing
vegan formula: with nothing from animals | purely from plants
fine mist: with a gentle spray | that come out as a cloud
anti aging: against wrinkles | that keep one young
dark circles: for tired eyes | against shadows below the lids
damaged hair: for brittle strands | after too much bleaching
dry scalp: against flakes | when the head itches
green clay: with mineral earth | with volcanic mud
refillable jar: with a container to use again | zero waste
dermatologist tested: approved by doctors | checked in a clinic
oil control: that leave no shine | mattifying
rose hip: with wild bush fruit | with dog rose seed
""")

BEAUTY = Department(
    "beauty",
    "Personal Care",
    (
        ProductType(
            "facial serums", "Face Care", (SCENT, VOLUME), (9, 60), ("drops for the face",)
        ),
        ProductType("shampoos", "Hair Wash", (SCENT, COUNT), (6, 30), ("hair soap",)),
        ProductType(
            "brush sets", "Makeup Tools", (COLOR, STYLE, COUNT), (8, 45), ("makeup applicators",)
        ),
        ProductType("lip balms", "Lip Care", (SCENT, COUNT), (4, 22), ("chapsticks",)),
        ProductType("beard oils", "Shaving", (SCENT, VOLUME), (8, 35), ("whisker conditioner",)),
        ProductType("nail dryers", "Manicure", (COLOR, STYLE), (15, 70), ("gel polish ovens",)),
        ProductType("body lotions", "Body Care", (SCENT, VOLUME), (6, 34), ("skin moisturizer",)),
        ProductType("bath salts", "Bathing", (SCENT, COUNT), (7, 32), ("soaking crystals",)),
    ),
    _POOL,
    _POOL,
)
