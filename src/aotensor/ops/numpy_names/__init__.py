"""Functions with NumPy's signature, where ours with that name has other arguments or another result, or is missing.

`np.clip(x, a_max=1)` calls one of these; other functions are registered where they are defined (`graph/public.py`).
"""
