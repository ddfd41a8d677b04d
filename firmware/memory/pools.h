// SPDX-License-Identifier: Apache-2.0
// The memory pools. Their places and sizes come from the linker script (that is, from the board profile
// and the model's plan); nothing is ever given back, because nothing lives shorter than the model.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "board_config.h"

// (`struct pool` is the wire message that tells the console about one of these.)
struct memory_pool {
    const char *name;
    uint8_t *base;
    size_t bytes; // capacity
    size_t used;  // from base, alignment gaps included
};

extern struct memory_pool
    weight_pool; // read-only to the CPU: the console puts the weight image here before boot
extern struct memory_pool activation_pool; // scratch of one forward pass
extern struct memory_pool kv_cache_pool;   // the KV ring

extern struct memory_pool npu_pool; // what the NPU reads and writes: its carve-out; empty without one

#define POOL_COUNT (3 + (BOARD_NPU_BYTES != 0))
extern struct memory_pool *const pools[];

/// Takes `bytes` from the pool, aligned to `align` (a power of two). Returns NULL, and takes nothing, when it
/// does not fit. The memory is not cleared.
void *pool_take(struct memory_pool *pool, size_t bytes, size_t align);

/// Forgets everything that was taken from the pool: for tests, and for a bind that failed half-way.
void pool_reset(struct memory_pool *pool);

/// Sets the pools up from the linker's symbols and checks that each is aligned, lies in the board's RAM and
/// overlaps neither another pool nor the image. Panics with the reason otherwise.
void pools_init(void);
