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

/// A job, and the pages that it names where its weights are pages of values: not owned.
struct npu_work {
    struct npu_job job;
    const uint64_t *pages; // [k / NPU_PAGE_KEYS], or NULL
};

/// Whether its weights are pages of values.
static inline bool npu_job_pages(const struct npu_job *job) {
    return job->format == NPU_WEIGHTS_KV_INT8 || job->format == NPU_WEIGHTS_KV_INT16;
}

/// How many pages it names.
static inline uint32_t npu_job_page_count(const struct npu_job *job) {
    return npu_job_pages(job) ? job->k / NPU_PAGE_KEYS : 0;
}

/// What a job reads: weights, values, groups, row_scales; or values, addresses of pages, and one page after
/// the other. It must have passed npu_job_check.
unsigned npu_input_count(const struct npu_work *work);
struct extent npu_input(const struct npu_work *work, unsigned n);

/// Whether anything that it reads meets `part`.
bool npu_reads(const struct npu_work *work, struct extent part);

static inline bool extents_meet(struct extent a, struct extent b) {
    return a.base < b.base + b.bytes && b.base < a.base + a.bytes;
}

/// All that lies between its first result and its last.
struct extent npu_job_results(const struct npu_job *job);

/// Whether results meet `part`, which is no longer than what lies between two rows.
bool npu_job_writes(const struct npu_job *job, struct extent part);

/// Whether two jobs have a result in the same place: rows may lie between the other's.
bool npu_results_meet(const struct npu_job *a, const struct npu_job *b);

/// Bytes of one row of results.
size_t npu_job_row_bytes(const struct npu_job *job);

/// A product of 16 bits by 8 counts twice.
uint64_t npu_job_macs(const struct npu_work *work);

/// What it moves over the bus: weights, activations and results, each once, in whole lines.
uint64_t npu_job_bytes(const struct npu_work *work);

/// NPU_CODE_DONE, or why the job is refused: by the descriptor alone, so that its pages may be read.
enum npu_code npu_job_check(const struct npu_job *job, const struct options *options);

/// The same by what it reads, for a job that has passed npu_job_check.
enum npu_code npu_work_check(const struct npu_work *work, const struct options *options);

/// Computes the job from `ram`, which holds the guest's memory from options->ram_base on. Returns its
/// results, rows one after the other without gaps, for npu_job_store and free; ends the process when there is
/// no memory.
uint8_t *npu_job_compute(const struct npu_work *work, const uint8_t *ram, const struct options *options);

/// The same where its weights are pages of values; results have room for all rows.
void npu_pages_compute(const struct npu_work *work, const uint8_t *ram, const struct options *options,
                       float *results);

/// Memory that begins with a cache line; ends the process when there is none.
void *npu_allocate(size_t bytes);

/// Writes results to where the job wants them.
void npu_job_store(const struct npu_job *job, const uint8_t *results, uint8_t *ram,
                   const struct options *options);
