"""Everything about a model in one document: written by `inspect --all`, read by `explore` and `lsp`."""
