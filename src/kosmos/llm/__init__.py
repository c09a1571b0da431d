"""Models: credentials and their secrets, the choice among them, and the clients that call them."""
