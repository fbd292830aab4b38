"""Changes of one function each, and whether `pytest --affected` selects the tests that they break."""
