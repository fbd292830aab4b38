"""What `fuse` goes by: the order of statements."""
