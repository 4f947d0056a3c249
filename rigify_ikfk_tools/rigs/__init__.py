# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers and writers of armatures, actions and meshes; they know no operator and no wish of a user."""
