"""One folder a family: the idea, its pseudo-code, the CPU and the CUDA form as neighbours."""
