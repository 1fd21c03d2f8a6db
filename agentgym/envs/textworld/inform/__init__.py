"""What a game prints, without Inform 7.

TextWorld writes a game as Inform source and compiles it. These modules print the compiled game's
text, from the game's JSON and the facts of the state alone: ``story`` compiles what never changes,
``world_view`` keeps the order of Inform's object tree, ``parser`` understands commands as Inform's
parser does, ``action_rules`` refuses them or lets them happen, and ``narrator`` words the answer.

TextWorld itself is not used, because its compiler is a binary for Linux on x86-64, and a game has
to be compiled before it can be played. Tests compare both, word for word.
"""
