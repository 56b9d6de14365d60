"""What the theory says before a run, plans with a guarantee, and the certificate of a result."""
