"""Container images without a daemon: read, unpacked once into a store, and pulled from registries."""
