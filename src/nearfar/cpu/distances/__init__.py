"""Operations on finished distances on the host: predecessors, proofs and exact sums of floats."""
