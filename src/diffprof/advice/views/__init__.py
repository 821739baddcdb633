"""How fit, predict and advise show what they found."""
