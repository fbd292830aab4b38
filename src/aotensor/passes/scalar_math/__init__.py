"""Elementary and special functions as straight-line arithmetic, for float32 and float64."""
