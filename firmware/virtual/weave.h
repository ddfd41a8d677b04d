// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What each core does below its L2 between two barriers, logged so that it can be replayed against the
// others' (bound-weave: Sanchez, Kozyrakis, "ZSim", ISCA 2013).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct options;

enum weave_kind {
    WEAVE_READ,        // a line enters L2
    WEAVE_USE,         // a load uses a line that was prefetched, or was on its way
    WEAVE_EVICT,       // a clean line leaves it
    WEAVE_EVICT_DIRTY, // a dirty one does
    WEAVE_OWN,         // a line that L2 holds was written for the first time
    WEAVE_OVERWRITE,   // a line enters L2 without being read
    WEAVE_CLEAN,       // a dirty line was written back on demand
    WEAVE_NPU_SUBMIT,  // a job of the NPU is submitted: `line` is its number
    WEAVE_NPU_WAIT,    // the core waits for that job, or saw that it had ended; `latency` in cycles
    WEAVE_NPU_RESET    // the jobs up to that one are given up
};

struct weave_entry {
    uint64_t when : 59; // ticks of the core's clock
    uint64_t kind : 4;
    uint64_t waits : 1; // a load waited for it
    uint32_t line;
    uint32_t latency; // READ and USE: ticks until it was there
};

struct weave_log {
    struct weave_entry *entry; // NULL: nothing is logged
    size_t count;
    uint64_t dropped; // entries beyond the log's size: they are not delayed by other cores
};

/// Appends to the core's log.
void weave_log(struct core *core, uint64_t now, uint64_t line, enum weave_kind kind, uint64_t latency,
               bool waits);

/// Whether another core had written `line`, and kept it, at the last weave.
bool weave_held_elsewhere(const struct core *core, uint64_t line);

/// From here on one core's traffic is logged, too.
void hierarchy_log(void);

/// Whether only one core runs, and its traffic is logged.
bool weave_alone_so_far(void);
