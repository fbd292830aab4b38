"""What `verify` checks, and how it reports."""
