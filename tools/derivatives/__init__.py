"""Compare derivatives of imported programs with those of their frameworks, as tables; see __main__.py."""
