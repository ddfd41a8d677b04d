// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// One job of the NPU: whether it may run, and what it computes. Knows nothing of time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "schema/npu.h"

/// A part of physical memory.
struct extent {
    uint64_t base, bytes;
};

enum { NPU_INPUTS = 4 };

/// What a job reads, weights first. It must have passed npu_job_check.
void npu_job_inputs(const struct npu_job *job, struct extent input[NPU_INPUTS]);

/// All that lies between its first result and its last.
struct extent npu_job_results(const struct npu_job *job);

static inline bool extents_meet(struct extent a, struct extent b) {
    return a.base < b.base + b.bytes && b.base < a.base + a.bytes;
}

/// Whether results meet `part`, which is no longer than what lies between two rows.
bool npu_job_writes(const struct npu_job *job, struct extent part);

/// Bytes of one row of results.
size_t npu_job_row_bytes(const struct npu_job *job);

uint64_t npu_job_macs(const struct npu_job *job);

/// What it moves over the bus: weights, activations and results, each once, in whole lines.
uint64_t npu_job_bytes(const struct npu_job *job);

/// NPU_CODE_DONE, or why the job is refused.
enum npu_code npu_job_check(const struct npu_job *job, const struct options *options);

/// Computes the job from `ram`, which holds the guest's memory from options->ram_base on. Returns its
/// results, rows one after the other without gaps, for npu_job_store and free; ends the process when there is
/// no memory.
uint8_t *npu_job_compute(const struct npu_job *job, const uint8_t *ram, const struct options *options);

/// Writes results to where the job wants them.
void npu_job_store(const struct npu_job *job, const uint8_t *results, uint8_t *ram,
                   const struct options *options);
