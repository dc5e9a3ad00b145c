"""The machine below: memory, files, threads, devices."""
