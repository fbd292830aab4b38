"""The typed IR: builders over xDSL, our dialect, the forms that stages keep, and an interpreter."""
