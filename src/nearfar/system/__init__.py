"""Services of the operating system: memory, files, threads and devices."""
