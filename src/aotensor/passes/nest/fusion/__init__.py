"""Statement order and its analysis for `fuse`."""
