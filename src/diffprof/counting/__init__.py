"""The dry run: what every operation of a generation costs, without weights and without computing."""
