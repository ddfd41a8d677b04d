# SPDX-License-Identifier: Apache-2.0
"""Model files: reading GGUF, packing weight images, tokenizing, chat templates, and the float32 oracle."""
