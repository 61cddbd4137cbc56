"""python -m hone: the program."""
import sys

from hone.program import main

sys.exit(main())
