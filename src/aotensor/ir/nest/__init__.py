"""The `nest` dialect: loop nests, their schedules, and the placement of values."""
