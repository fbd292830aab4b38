"""`aotensor why`: explain how lines of a model were compiled."""
