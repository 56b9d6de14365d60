"""What every room stands on: checks of arguments, threads, files, and the hash of the code."""
