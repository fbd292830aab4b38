"""From loop IR to machine code: LLVM IR, the target machine, entry points, header, manifest, library."""
