"""Random draws: a counter-based generator, samplers in scalar operations, and distributions based on them."""
