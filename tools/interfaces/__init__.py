"""Speeds of interfaces beside what their users have otherwise: `python -m tools.interfaces casadi`, `ceres`."""
