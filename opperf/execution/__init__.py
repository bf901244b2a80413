"""Plans and schedules of cases, the loop that measures them, and the executors that it drives."""
