"""Games without TextWorld: the state machine over a game's JSON, and the session that plays it.

``Machine(GameWorld.of(game))`` plays a game that TextWorld 1.x generated and is equal to
TextWorld's own machine at every step, but for commands that several rules answer (``prepare
meal``): there it does what the compiled game does. It produces no text: ``inform`` describes what
its actions do, and ``NativeSession`` combines the two.
"""
