"""The story of one call, part by part. Every combination of failures is in guarantees/."""
