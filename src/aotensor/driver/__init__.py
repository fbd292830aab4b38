"""From the definition of a function to the files of a library: compilation steps and the cache."""
