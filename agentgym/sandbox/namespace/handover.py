"""The messages between :mod:`.forking` and :mod:`.fork_server`."""

READY = b"ready"
"""The server's first message."""
CONNECTION, OWNER, GROUP = "cog"
"""One letter for each descriptor of a message: the connection to the sandbox, the process that owns
it, and the process list of its cgroup."""
USER = "u"
"""Letter of a message that also requests a user namespace. Three numbers may follow the letters:
user and group of a tree, and the user of its files in the sandbox."""
