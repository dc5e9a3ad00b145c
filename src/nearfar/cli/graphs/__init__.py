"""Commands that make, describe, convert and prepare graphs."""
