"""Readers of library file formats, without running code: ELF, PE, Mach-O, WebAssembly."""
