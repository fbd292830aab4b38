"""Functions with parameters, such as the incomplete gamma function: their rows, references and derivatives."""
