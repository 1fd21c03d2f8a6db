"""What an action means, what is shown of it, and one episode."""
