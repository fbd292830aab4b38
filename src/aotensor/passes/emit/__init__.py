"""Lowering from nest level to loop level: a single emitter, which makes no optimisation decisions."""
