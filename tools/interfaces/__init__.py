"""Measure interfaces against the usual alternatives of their users: `python -m tools.interfaces casadi`, `ceres`."""
