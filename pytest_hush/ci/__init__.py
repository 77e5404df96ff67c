"""What a CI job does beside measuring: comments on pull requests, and baselines of the main branch."""
