"""Formulas in the IR: terms across the bodies of elementwise operations, matching and building them."""
