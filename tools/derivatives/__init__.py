"""Derivatives of imported programs beside those of their frameworks, as tables; see __main__.py."""
