"""Profiles in the formats of other programs: speedscope, Chrome's trace viewer, spreadsheets and data frames."""
