"""From a Function to the files of a library: the road, the cache, and the checks on both."""
