"""The command line of aotensor: `aotensor COMMAND`, also `python -m aotensor_cli COMMAND`."""
