"""Search through a server: the client, and the server that its users can put up."""
