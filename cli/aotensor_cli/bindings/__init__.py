"""Generate bindings of compiled libraries for other languages from their manifests."""
