"""One folder a family: the idea and its pseudo-code, the CPU form and the CUDA form as neighbours."""
