"""One JSON document about a model, written by `inspect --json --all` and read by `explore` and `lsp`."""
