// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The NPU behind the device page: a queue of jobs, and what cores learn of them.
//
// Between two barriers a core knows of others only what it knew at the last one (sync.h). So it is with the
// NPU: jobs get a time at which they end if nothing else uses the bus; cores that wait for them go on at that
// time; and when all cores have reached the barrier, the weave (weave.h) replays the NPU's traffic among
// theirs, and moves both the ends and the waiting cores to where they would have been.
//
// A job's inputs are read when it is submitted, its results are written when its end is observed.
#pragma once

#include "core.h"
#include "npu_job.h"
#include "schema/device_page.h"

/// Maps guest RAM, whose file is `fd`, and offers the device on `page` where the board has one. Returns NULL,
/// or what went wrong.
const char *npu_open(const struct options *options, int fd, struct device_page *page);

// What the guest's stores mean (schema/device_page.toml). The core's clock is up to date.
void npu_start(struct core *core);
void npu_wait(struct core *core);
void npu_look(struct core *core);
void npu_reset(struct core *core);

/// Of a job that the core has not observed yet and that writes results to `part`, or reads inputs from it,
/// the number; or 0.
uint32_t npu_unobserved(const struct core *core, struct extent part, bool results);

/// All cores stand still, and know what any of them knew: job times are exact up to here.
void npu_woven(void);
