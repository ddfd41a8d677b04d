// SPDX-License-Identifier: Apache-2.0
// Jobs for several cores (hal/cores.h), with what each core waited for the others as events of KERNEL_WAIT.
#pragma once

#include "hal/cores.h"

/// Runs `job` on `cores` cores, this one included. Core 0 only, and not from inside a job. `layer` is for the
/// events.
void team_run(unsigned cores, core_job *job, void *context, unsigned layer);

/// Inside a job: waits until all its cores are here. What any of them stored before, all see afterwards.
void team_meet(struct share share, unsigned layer);
