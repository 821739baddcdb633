"""The dry run: count what every operation of a generation costs, without weights and without computing."""
