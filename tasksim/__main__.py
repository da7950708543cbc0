"""``python -m tasksim``."""

import sys

from tasksim.cli import main

if __name__ == "__main__":
    sys.exit(main())
