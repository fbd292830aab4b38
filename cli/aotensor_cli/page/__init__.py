"""The HTML page of a model or a library: source lines, stages, loops, memory and remarks, linked by line."""
