"""Random draws: a counter-based generator, samplers in scalar verbs, and distributions made of them."""
