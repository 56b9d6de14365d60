"""Tables in files, and the models fitted to them."""
