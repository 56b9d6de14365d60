"""Matrix sensing, and the smallest nuclear norm."""
