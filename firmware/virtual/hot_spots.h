// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What each instruction of a region costs (mode `timed`): counted in a file that the console maps too, so
// that it can be read at any time (console/maxconsole/virtual/hot_spots.py).
//
// The file: struct hot_spots_header, then for each core a struct hot_spot for each instruction.
//
// Time is that by which the instruction moved the core's retirement: the part of its waiting that nothing
// before it had waited for already. The sum over all instructions is the region's time. What passes between
// two instructions is nobody's: draining at a latch, and what the other cores cost.
#pragma once

#include <stdint.h>

#include "core.h"

enum { HOT_SPOTS_VERSION = 1 };

struct hot_spot {
    uint64_t executions;
    uint64_t time; // in units of which hot_spots_header.time_per_cycle are a cycle
    uint64_t l1d_refills, l2_refills;
};

struct hot_spots_header {
    char magic[8]; // "HOTSPOTS"
    uint32_t version, cores;
    uint64_t first, insns; // address of the first instruction, and their number: more than the region has
    uint64_t time_per_cycle;
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct hot_spots_header) == 64 && sizeof(struct hot_spot) == 32,
               "the console's layout");

/// Creates the file. Returns NULL, or what went wrong; without a path, nothing is counted.
const char *hot_spots_open(const struct options *options);

/// Where core 0's instructions from `vaddr` on are counted; NULL where none of the `insns` is in the region.
struct hot_spot *hot_spots_at(uint64_t vaddr, unsigned insns);

/// The same place of another core.
struct hot_spot *hot_spots_of(const struct core *core, struct hot_spot *spot);

/// What hot_spots_add() wants to know of the time before the instruction. `retired`: when what comes next can
/// retire.
static inline struct hot_spot hot_spots_before(const struct core *core, uint64_t retired) {
    return (struct hot_spot){
        .time = retired, .l1d_refills = core->counts.l1d_refill, .l2_refills = core->counts.l2_refill};
}

/// An instruction has been followed.
static inline void hot_spots_add(struct hot_spot *spot, const struct core *core, uint64_t retired,
                                 const struct hot_spot *before) {
    spot->executions++;
    spot->time += retired - before->time;
    spot->l1d_refills += core->counts.l1d_refill - before->l1d_refills;
    spot->l2_refills += core->counts.l2_refill - before->l2_refills;
}
