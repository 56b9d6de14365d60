"""Speed as a ratio: weightnorm and its peers, side by side in one run."""
