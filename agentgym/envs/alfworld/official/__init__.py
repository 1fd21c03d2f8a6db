"""The official games: folders of both generations, packs, and the index over them."""
