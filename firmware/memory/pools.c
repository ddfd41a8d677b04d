// SPDX-License-Identifier: Apache-2.0
#include "memory/pools.h"

#include <stdbool.h>

#include "arch/exception.h"
#include "board_config.h"

extern uint8_t __image_start[], __image_end[]; // code, data, stacks and rings of the firmware
extern uint8_t __weight_pool_start[], __weight_pool_end[];
extern uint8_t __activation_pool_start[], __activation_pool_end[];
extern uint8_t __kv_cache_pool_start[], __kv_cache_pool_end[], __npu_pool_start[], __npu_pool_end[];

struct memory_pool weight_pool = {.name = "WEIGHT_POOL"};
struct memory_pool activation_pool = {.name = "ACTIVATION_POOL"};
struct memory_pool kv_cache_pool = {.name = "KV_CACHE_POOL"};
struct memory_pool npu_pool = {.name = "NPU_POOL"};
struct memory_pool *const pools[] = {&weight_pool, &activation_pool, &kv_cache_pool, &npu_pool};

void *pool_take(struct memory_pool *pool, size_t bytes, size_t align) {
    uintptr_t free = (uintptr_t)pool->base + pool->used;
    size_t gap = -free & (align - 1);
    size_t left = pool->bytes - pool->used;
    if (gap > left || bytes > left - gap)
        return NULL;
    pool->used += gap + bytes;
    return (void *)(free + gap);
}

void pool_reset(struct memory_pool *pool) {
    pool->used = 0;
}

#define POOL_ALIGN UINT64_C(0x200000) // so that 2 MiB blocks map it

struct range {
    uint64_t base, bytes;
};

static bool overlap(uint64_t base, uint64_t bytes, const struct range *other) {
    return base < other->base + other->bytes && other->base < base + bytes;
}

static void check_place(const struct memory_pool *pool) {
    static const struct range ram[] = BOARD_RAM_REGIONS;
    static const struct range reserved[] = BOARD_RESERVED_REGIONS;
    const struct range image = {(uintptr_t)__image_start, (uint64_t)(__image_end - __image_start)};
    uint64_t base = (uintptr_t)pool->base;
    bool inside = false;

    if (base % POOL_ALIGN)
        panic("%s at %lx is not aligned to 2 MiB", pool->name, base);
    for (unsigned i = 0; i < BOARD_RAM_REGION_COUNT; i++)
        inside |= base >= ram[i].base && base + pool->bytes <= ram[i].base + ram[i].bytes;
    if (!inside)
        panic("%s, %lx and %lx bytes, is not inside the RAM", pool->name, base, pool->bytes);
    for (unsigned i = 0; i < BOARD_RESERVED_REGION_COUNT; i++)
        if (overlap(base, pool->bytes, &reserved[i]))
            panic("%s overlaps a reserved range at %lx", pool->name, reserved[i].base);
    if (overlap(base, pool->bytes, &image))
        panic("%s overlaps the firmware image", pool->name);
}

static void place(struct memory_pool *pool, uint8_t *start, uint8_t *end) {
    if (end < start)
        panic("%s ends before it starts", pool->name);
    pool->base = start;
    pool->bytes = (size_t)(end - start);
    pool->used = 0;
}

void pools_init(void) {
    place(&weight_pool, __weight_pool_start, __weight_pool_end);
    place(&activation_pool, __activation_pool_start, __activation_pool_end);
    place(&kv_cache_pool, __kv_cache_pool_start, __kv_cache_pool_end);
    place(&npu_pool, __npu_pool_start, __npu_pool_end);
    for (unsigned i = 0; i < POOL_COUNT; i++) {
        check_place(pools[i]);
        for (unsigned other = 0; other < i; other++) {
            const struct range range = {(uintptr_t)pools[other]->base, pools[other]->bytes};
            if (overlap((uintptr_t)pools[i]->base, pools[i]->bytes, &range))
                panic("%s overlaps %s", pools[i]->name, pools[other]->name);
        }
    }
}
