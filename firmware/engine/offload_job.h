// SPDX-License-Identifier: Apache-2.0
// The matrix products of half a batch, on the NPU or, in formats that it does not take, on the cores.
#pragma once

#include "engine/pass.h"

struct product {
    const struct matrix *m;
    void *y;     // [batch_max][m->rows], in the NPU's memory
    bool halves; // of fp16, not float
    enum kernel kernel;
};

static inline size_t product_bytes(bool halves, size_t values) {
    return values * (halves ? sizeof(uint16_t) : sizeof(float));
}

/// All cores, right after a barrier: y[rows] of each product from the half's quantized input, soon. Complete
/// for a core once it has passed another barrier and offload_wait() of the half.
void offload_products(const struct pass *p, unsigned half, struct interval rows,
                      const struct product *products, unsigned count);

/// Whether products with `m` that are no queries, keys or values come as fp16.
bool offload_halves(const struct pass *p, const struct matrix *m);

/// Waits until the half's last products are complete; false if there are none yet in this batch.
bool offload_wait(const struct pass *p, unsigned half);
