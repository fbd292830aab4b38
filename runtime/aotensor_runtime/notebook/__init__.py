"""HTML of libraries and reports for notebooks."""
