"""Nest level → loop level: one emitter, which decides nothing."""
