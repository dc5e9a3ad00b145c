"""Steps of a solve: request, plan, attempt, and the run of many sources in blocks."""
