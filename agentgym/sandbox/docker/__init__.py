"""Containers of Docker or Podman as sandboxes."""
