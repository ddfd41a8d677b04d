// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// When the NPU's jobs begin and end. A job begins start-up cycles after its submission, or when the one
// before has ended. It ends when both its arithmetic, at the rate of its number formats, and its transfers
// are done, which go on evenly meanwhile, in bursts over the bus that the cores use too.
//
// Until a weave has come to a job's end that end is an estimate: with the bus for itself from here on, and
// so never too late. Times are in ticks.
#pragma once

#include "npu_job.h"

struct npu_timing {
    uint32_t sequence;
    bool hangs;              // never ends
    bool ended;              // `end` is exact
    uint64_t mac_ticks;      // of the arithmetic alone
    uint64_t bytes;          // over the bus
    uint64_t bursts, writes; // of these, results
    uint64_t submitted, begin, end;
};

void npu_time_init(const struct options *options);

/// Whether one more job can be remembered until a weave comes to its end.
bool npu_time_room(void);

/// Job `sequence`, the successor of the last one, is submitted at `now`.
void npu_time_add(uint32_t sequence, const struct npu_work *work, uint64_t now);

/// One of the last NPU_RECORDS jobs, or NULL.
const struct npu_timing *npu_time_of(uint32_t sequence);

/// Jobs up to `sequence` are given up at `now`.
void npu_time_give_up(uint32_t sequence, uint64_t now);

/// Whether there is a job whose end no weave has come to.
bool npu_time_pending(void);

// For the weave (weave.c), in the order of modeled time.

/// When the next burst goes over the bus; UINT64_MAX where nothing is to be done.
uint64_t npu_time_next(void);

/// How many lines that burst has, and whether they are written.
unsigned npu_time_burst(bool *writes);

/// That burst is over at `done`. Returns the number of the job that has ended by it, or 0.
uint32_t npu_time_moved(uint64_t done);

/// The submission of job `sequence` was at `now`, after all.
void npu_time_submitted(uint32_t sequence, uint64_t now);

/// The reset that ended the jobs up to `sequence` was at `now`.
void npu_time_was_reset(uint32_t sequence, uint64_t now);

/// A weave has ended: estimates what it has not come to.
void npu_time_estimate(void);
