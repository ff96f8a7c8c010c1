"""What owners play for, on plain arrays: costs, accuracies, offers, best responses, proofs."""
