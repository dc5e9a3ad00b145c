"""The generated documentation: pages made from the code, and tables made from measured results."""
