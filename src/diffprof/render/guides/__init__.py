"""The numbers and tables of the original guides, laid out as their users know them."""
