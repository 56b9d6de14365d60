"""The page of the network experiment, written from its data."""
