"""What differs from target to target: names, linkers, archives, levels of CPUs."""
