"""Search for schedules: candidates, measurement, journal and report."""
