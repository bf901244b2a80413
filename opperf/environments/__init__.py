"""Python environments for benches and arms, built of requirements and kept."""
