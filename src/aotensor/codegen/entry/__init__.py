"""The exported functions of a library, in LLVM IR: typed, uniform and Python entries over each kernel."""
