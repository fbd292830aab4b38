"""Are the derivatives of a function right? Numbers against numbers, and the op that is to blame."""
