"""Main loops of device solves: controlled by the host, or in one cooperative launch."""
