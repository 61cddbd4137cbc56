"""python -m hone: the program."""
import sys

from hone.process import main

sys.exit(main())
