"""Cross-policy sampling: a stale copy of the policy plays some turns."""
