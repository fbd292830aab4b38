"""From the definition of a function to the files of a library: the road and the cache."""
