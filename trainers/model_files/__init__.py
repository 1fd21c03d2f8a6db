"""Sources of models: names, hub ids, folders and GGUF files, and adapters with their bases."""
