"""HTTP as every client and server of agentgym speaks it: connections kept open, and a server."""
