"""Schedules by hand: what a nest computes, whether another nest computes the same, and edits that keep it."""
