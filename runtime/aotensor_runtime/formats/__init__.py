"""Files of libraries, read without running them: ELF, PE, Mach-O, WebAssembly."""
