// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What an emulator hides (check=on; several times slower):
//
// - Races: between two barriers (sync.h), bytes that one core writes and another touches. Granules of four
// bytes; which
//   core was first does not matter, so that a race is found whether or not it did harm this time. Atomic and
//   acquire/release accesses, and memory that is not cacheable, do not count.
// - Stale reads: a core whose MMU, and so its cache, is still off reads a line that another has written and
// not cleaned
//   since. QEMU has no caches; on silicon the line might still be in the other core's.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core.h"
#include "options.h"
#include "qemu_plugin_api.h"

/// Returns NULL, or what went wrong.
const char *races_open(const struct options *options);

/// Follows what the block will do. `words` are its instructions.
void races_follow(struct qemu_plugin_tb *tb, const uint32_t *words, unsigned insns);

/// How much has been found; grows with every finding.
unsigned races_found(void);

/// The findings, a line each, by address. Returns the length of the text, which is not terminated.
size_t races_text(char *text, size_t room);
