"""Passes over graphs; and what those over IR share with them: which ones run, and what they say of their decisions."""
