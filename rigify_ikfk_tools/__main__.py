# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m rigify_ikfk_tools`: the command line."""

import sys

from .cli import main

sys.exit(main())
