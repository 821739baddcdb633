"""What to do about a generation before it runs: does it fit, how long will it take, what to change; with the views."""
