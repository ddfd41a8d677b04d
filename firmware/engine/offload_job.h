// SPDX-License-Identifier: Apache-2.0
// Jobs of the NPU within a batch; and the matrix products of half a batch, on the NPU or, in formats that it
// does not take, on the cores.
#pragma once

#include "engine/pass.h"
#include "schema/npu.h"

struct product {
    const struct matrix *m;
    enum kernel kernel;
};

/// What a stage multiplies its input by. Side by side, products are the output's columns.
struct products {
    const struct offload_output *output;
    enum kernel kernel; // of one job for all of them
    unsigned count;
    struct product list[3];
};

/// Core 0: queues a job. Where it is refused the batch has failed, and the job's number is 0.
struct offload_job offload_submit(const struct pass *p, const struct npu_job *job, enum kernel kernel,
                                  uint64_t macs);

/// Waits until the job is complete; a batch whose job does not end well has failed.
void offload_wait_for(const struct pass *p, const struct offload_job *job);

/// Core 0, behind a barrier that all cores have passed since they waited, so that times are exact: reports
/// it. Does nothing for a job that has no number.
void offload_record(const struct offload_job *job);

/// Memory of the NPU, a line at least; `needed` grows by what it takes. NULL where there is none left.
void *offload_reserve(size_t bytes, size_t *needed);

/// All cores, right after a barrier: rows `rows` of the output from the half's quantized input, soon.
/// Complete for a core once it has passed another barrier and offload_wait() of the half. Matrices that lie
/// one behind the other are one job, so that the input crosses the bus once.
void offload_products(const struct pass *p, unsigned half, struct interval rows,
                      const struct products *products);

/// Whether the NPU makes all of them.
bool offload_takes_all(const struct products *products);

/// Whether their output is of fp16.
bool offload_halves(const struct pass *p, const struct products *products);

/// Waits until the half's last products are complete; false if there are none yet in this batch.
bool offload_wait(const struct pass *p, unsigned half);
