# SPDX-License-Identifier: Apache-2.0
"""Binary layouts that C and Python share, generated from `firmware/schema/*.toml` by `scripts/generate-schemas`."""
