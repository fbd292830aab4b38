"""Arrays of NumPy as a library reads them: where their parts lie, and what becomes one without a loss."""
