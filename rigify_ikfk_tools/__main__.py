# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m rigify_ikfk_tools`: the command line."""

import os
import sys

from .cli import main

status = main()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)  # some versions of bpy crash when Python takes them down, after all work is done
