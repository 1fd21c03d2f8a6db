"""What a TextWorld game prints, without Inform 7.

TextWorld writes a game as Inform source and compiles it. These modules say what the compiled game
says, from the game's JSON and the facts of the state alone: `book` compiles what never changes,
`scene` keeps the order of Inform's object tree, `reader` understands commands as Inform's parser
does, `deeds` decides what becomes of them, and `narrator` is the face of it all.
"""
