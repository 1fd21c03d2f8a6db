"""Container images without a daemon: read, unpacked once into a store, pulled from registries."""
