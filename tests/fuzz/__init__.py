"""A seeded fuzzer: files as nobody should write them, given to the commands that read them.

`python -m tests.fuzz` runs it; ``make fuzz`` runs 100,000 cases. docs/reliability.md says what is checked.
"""
