"""Where games come from: the bundled ones, packs and a store on disk, files of one's own."""
