"""Query sets on disk: a snapshot, and a log of the changes since."""
