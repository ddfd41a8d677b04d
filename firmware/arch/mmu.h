// SPDX-License-Identifier: Apache-2.0
// The memory map as built at boot: identity-mapped regions, everything else unmapped.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PAGE_SIZE  UINT64_C(0x1000)
#define BLOCK_SIZE UINT64_C(0x200000)

enum region_kind {
    REGION_CODE,      // read, execute
    REGION_READ_ONLY, // read
    REGION_DATA,      // read, write
    REGION_TRANSIENT, // read, write; what caches hold of it they need not keep
    REGION_SHARED,    // read, write, not cached: for a debug probe
    REGION_DEVICE,    // read, write, in order, never speculated
};

struct region {
    const char *name;
    uint64_t base;
    uint64_t end; // first byte after it
    enum region_kind kind;
};

#define REGIONS_MAX 32
extern struct region regions[REGIONS_MAX];
extern unsigned region_count;

/// True when every byte of `base`..`base + bytes` is mapped memory (not registers) inside one region.
bool memory_readable(uint64_t base, uint64_t bytes);
