"""The colour words of the original reward, in the original order.

The first of these words that occurs in an option value stands for the whole value, so the order
decides ("dark navy" is ``dark``). See :func:`agentgym.envs.webshop.engine.reward.plain_colour`.
"""

from __future__ import annotations

_WORDS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown
burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee
cognac copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold
granite grape graphite grass gray green grey heather indigo ivory ivy khaki lavender lemon
leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom
mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust
sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger
turquoise violet walnut wheat white wine yellow
"""

COLOURS: tuple[str, ...] = tuple(_WORDS.split())
"""Common colour names; a tuple because the order matters."""
