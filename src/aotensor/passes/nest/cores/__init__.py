"""Loops on several cores."""
