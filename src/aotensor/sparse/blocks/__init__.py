"""Matrices in rows of dense blocks (BSR): their patterns, and products that keep rows of blocks in registers."""
