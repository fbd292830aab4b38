"""Schedules by measuring: what is tried, how it is measured, and what is written down."""
