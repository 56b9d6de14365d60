"""One start, many starts, and what comes out of them."""
