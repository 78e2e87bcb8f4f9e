"""`python -m tracejury.cli`."""

from tracejury.cli import main

main()
