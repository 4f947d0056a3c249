# SPDX-License-Identifier: GPL-3.0-or-later
"""What `dev.py` is made of: finding a Python, keeping an environment, running the checks, building the zip.

Everything here but `blender_launcher` runs before anything is installed: standard library only, Python 3.8 or newer.
"""
