"""Human review: a blind random sample of a run for people to label, and what becomes of their labels."""
