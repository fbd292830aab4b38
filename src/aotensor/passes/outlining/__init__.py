"""Outlining: functions made of loops, merging of equal ones, and elementary functions that are called."""
