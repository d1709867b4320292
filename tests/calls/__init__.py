"""The course of one call, part by part. Every combination of failures is in guarantees/."""
