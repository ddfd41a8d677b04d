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

/// What is found. Those from FINDING_DIRTY_INPUT on are the NPU's (npu_check.h).
enum finding_kind {
    FINDING_READ,           // a race: the second instruction reads
    FINDING_WRITE,          // both write
    FINDING_STALE,          // read with the MMU off, not cleaned
    FINDING_DIRTY_INPUT,    // a job begins, and what it reads is dirty in a cache
    FINDING_DIRTY_RESULT,   // likewise where it writes: the line may be written back over the results
    FINDING_INPUT_WRITTEN,  // between a job's submission and its end
    FINDING_RESULT_WRITTEN, // likewise
    FINDING_EARLY,          // results are read before the job has been waited for
    FINDING_STALE_RESULT    // and after it, but the core's cache may hold the line from before
};

/// Returns NULL, or what went wrong.
const char *races_open(const struct options *options);

/// Follows what the block will do. `words` are its instructions.
void races_follow(struct qemu_plugin_tb *tb, const uint32_t *words, unsigned insns);

/// Notes a finding of the NPU's: job `sequence`, the instruction at `pc`.
void races_note(enum finding_kind kind, uint64_t address, uint32_t sequence, uint32_t pc);

/// Whether a core has written the line at `address` through its cache, and nobody has cleaned it since.
bool races_dirty(uint64_t address);

/// How much has been found; grows with every finding.
unsigned races_found(void);

/// The findings, a line each, by address. Returns the length of the text, which is not terminated.
size_t races_text(char *text, size_t room);
