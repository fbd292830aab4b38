"""`aotensor lsp`: what editors show of a model, by the Language Server Protocol."""
