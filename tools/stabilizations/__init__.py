"""The table of formulas that overflow, underflow or cancel, and how accurate they are: docs/stabilizations.md."""
