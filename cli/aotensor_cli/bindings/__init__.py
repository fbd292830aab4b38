"""Interfaces of compiled libraries for other languages, as text written from their manifests."""
