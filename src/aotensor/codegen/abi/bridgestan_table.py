"""The layout of the constant table of a BridgeStan model: positions of words in it."""

from __future__ import annotations

from typing import Final

MAJOR: Final = 2
MINOR: Final = 9
PATCH: Final = 0
"""The version of BridgeStan whose symbols these are."""

DATA_COUNT: Final = 0
DATA: Final = 1
PARAMETER_COUNT: Final = 2
PARAMETERS: Final = 3
UNCONSTRAINED: Final = 4
CONSTRAINED: Final = 5
TRANSFORMED: Final = 6
NAME: Final = 7
INFO: Final = 8
NAMES: Final = 9
ALL_NAMES: Final = 10
UNCONSTRAINED_NAMES: Final = 11
LOG_DENSITY: Final = 12
GRADIENT: Final = 13
HESSIAN: Final = 14
PRODUCT: Final = 15
CONSTRAIN: Final = 16
UNCONSTRAIN: Final = 17
BLAS: Final = 18
"""Words of the table of a model: counts, addresses of texts, of records and of uniform entries; an aotensor_blas."""

VALUE_NAME: Final = 0
VALUE_RANK: Final = 1
VALUE_DTYPE: Final = 2
VALUE_SIZE: Final = 3
VALUE_EXTENTS: Final = 4
VALUE_DEFAULT: Final = 5
VALUE_SHAPE: Final = 6
VALUE_FIRST: Final = 7
VALUE_STRIDES: Final = 8
VALUE_START: Final = 9
VALUE_COUNT: Final = 10
VALUE_WORDS: Final = 11
"""Words of a record, of one data value or parameter: name, rank, dtype, bytes of an element; addresses of extents (-1:
any), of the value and shape that are taken where none is given (0: none). Of a parameter also the position of its first
element among the constrained ones, their distances along each axis, and its part of the unconstrained vector."""
