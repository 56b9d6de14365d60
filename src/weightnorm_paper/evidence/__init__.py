"""What checks need: instances, simulations of their own, and a place for what they find."""
