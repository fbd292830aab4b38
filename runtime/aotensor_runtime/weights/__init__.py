"""The file of weights of a library: its record in the manifest, and how it is found, mapped and checked."""
