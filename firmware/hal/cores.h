// SPDX-License-Identifier: Apache-2.0
// All cores on one job: core 0 starts the others once, then gives them functions to run.
//
// A job runs on cores 0 to n - 1, and every one of them passes the same barriers. Between jobs the others
// sleep, so that core 0 alone uses the link, the pools and whatever else has no owner in a job. A core that
// faults inside a job therefore finds the link free for its report: core 0 waits for it, for good.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/share.h"

/// What core_start returns when PSCI has started a core that then did not say so.
#define CORE_SILENT 1

/// Starts `core` and waits until it is ready, but not for ever. Returns 0, CORE_SILENT, or PSCI's error,
/// which is negative. Cores must be started in order: jobs run on those before the first that failed.
int64_t core_start(unsigned core);

/// How many cores jobs may have: 1 before the first core_start.
unsigned cores_running(void);

typedef void core_job(void *context, struct share share);

/// Runs `job` on `cores` cores at once, this one included, each with its share; returns when all have
/// finished. Core 0 only, and not from inside a job.
void cores_run(unsigned cores, core_job *job, void *context);

/// Whether a job runs.
bool cores_busy(void);

/// Inside a job: waits until all its cores are here. What any of them stored before, all see afterwards.
void cores_meet(unsigned cores);
