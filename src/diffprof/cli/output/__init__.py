"""What commands print and write: answers, profiles, comparisons, progress."""
