"""`python -m tracejury`."""

from tracejury.cli import main

if __name__ == "__main__":
    main()
