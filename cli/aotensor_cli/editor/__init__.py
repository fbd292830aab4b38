"""`aotensor lsp`: show remarks and errors of a model in editors, by the Language Server Protocol."""
