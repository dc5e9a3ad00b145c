"""The documentation, and in ``generators`` what makes its tables and reference pages."""
