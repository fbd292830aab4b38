"""One page on a model or a library: source lines, stages, loops, memory and remarks, linked by location."""
