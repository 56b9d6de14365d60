"""Between the user's words and the loop: a method and a start become runs, and where they end becomes a Result."""
