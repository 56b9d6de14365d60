"""The commands `weightnorm reproduce` and `weightnorm verify`."""
