# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way once: a body of our own making, rigged, walking, baked both ways, and a strip of pictures."""
