"""Formulas in the IR: match and build terms across the bodies of elementwise operations."""
