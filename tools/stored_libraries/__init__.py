"""Small libraries of each release, which every later runtime loads and calls (docs/abi.md, "Versions")."""
