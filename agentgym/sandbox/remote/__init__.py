"""Sandboxes on another machine: the client, and the server that owns them."""
