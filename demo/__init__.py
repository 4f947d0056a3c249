# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way once: a body of our own making, rigged, walking, baked to FK and back, and a strip of pictures of it."""
