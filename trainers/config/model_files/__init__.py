"""What is known of models before they load: sources, adapters with their bases, precision."""
