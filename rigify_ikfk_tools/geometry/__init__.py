# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure geometry on numpy arrays: this package never imports bpy."""
