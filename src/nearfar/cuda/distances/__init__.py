"""Operations on finished distances on the device: predecessors, masks and figures of rows."""
