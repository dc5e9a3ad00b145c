"""Operating-system services: memory, files, threads, devices."""
