"""Words of item names: materials and nouns."""

from __future__ import annotations

_MATERIALS = """
    amber ash bamboo basalt birch bone brass bronze canvas cedar chalk clay cobalt copper coral
    cork cotton ebony elm felt fern flint glass granite hemp hide iron ivory jade lace lead linen
    maple marble moss oak opal paper pearl pine quartz reed resin rope rubber rush sand satin silk
    silver slate steel straw tin velvet walnut wax willow wool zinc
"""
MATERIALS = tuple(_MATERIALS.split())
"""Sixty materials."""
_NOUNS = """
    anchor arch axle basket beam bell belt blade block bolt bottle bowl box brush bucket button
    chain clasp cloth coil comb cord crown cup disc drum fan fork frame funnel gate gear handle hat
    hinge hook horn kettle knot ladder lamp latch lens mask needle net panel peg pipe plate pulley
    rail ring rod sail spoon spring tray wheel whistle
"""
NOUNS = tuple(_NOUNS.split())
"""Sixty nouns."""
