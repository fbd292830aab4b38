"""Packages of compiled libraries for `aotensor package`: wheels, SDKs, npm packages, FMUs."""
