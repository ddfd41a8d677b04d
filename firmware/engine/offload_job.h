// SPDX-License-Identifier: Apache-2.0
// Jobs of the NPU within a batch; and the matrix products of half a batch, on the NPU or, in formats that it
// does not take, on the cores.
#pragma once

#include "engine/pass.h"
#include "schema/npu.h"

struct product {
    const struct matrix *m;
    void *y;     // [batch_max][m->rows], in the NPU's memory
    bool halves; // of fp16, not float
    enum kernel kernel;
};

static inline size_t product_bytes(bool halves, size_t values) {
    return values * (halves ? sizeof(uint16_t) : sizeof(float));
}

/// Core 0: queues a job. Where it is refused the batch has failed, and the job's number is 0.
struct offload_job offload_submit(const struct pass *p, const struct npu_job *job, enum kernel kernel,
                                  uint64_t macs);

/// Waits until the job is complete; a batch whose job does not end well has failed.
void offload_wait_for(const struct pass *p, const struct offload_job *job);

/// Core 0, behind a barrier that all cores have passed since they waited, so that times are exact: reports
/// it. Does nothing for a job that has no number.
void offload_record(const struct offload_job *job);

/// Memory of the NPU, a line at least; `needed` grows by what it takes. NULL where there is none left.
void *offload_take(size_t bytes, size_t *needed);

/// All cores, right after a barrier: y[rows] of each product from the half's quantized input, soon. Complete
/// for a core once it has passed another barrier and offload_wait() of the half.
void offload_products(const struct pass *p, unsigned half, struct interval rows,
                      const struct product *products, unsigned count);

/// Whether products with `m` that are no queries, keys or values come as fp16.
bool offload_halves(const struct pass *p, const struct matrix *m);

/// Waits until the half's last products are complete; false if there are none yet in this batch.
bool offload_wait(const struct pass *p, unsigned half);
