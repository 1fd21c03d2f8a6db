"""Container images without a daemon: read them, unpack them into a store, pull them."""
