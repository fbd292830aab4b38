"""FMI 3.0: the functions of an FMU, for Model Exchange and Co-Simulation."""
