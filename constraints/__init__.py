"""What circuits are built for: parts and their limits. Imports nothing of Penstock."""
