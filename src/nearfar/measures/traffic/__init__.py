"""Traffic: demand, loads of edges, travel times by flow and the equilibrium of users."""
