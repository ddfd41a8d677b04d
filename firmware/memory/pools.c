// SPDX-License-Identifier: Apache-2.0
#include "memory/pools.h"

#include <stdbool.h>

#include "arch/exception.h"
#include "board_config.h"

extern uint8_t __image_start[], __image_end[]; // code, data, stacks and rings of the firmware
extern uint8_t __weight_pool_start[], __weight_pool_end[];
extern uint8_t __activation_pool_start[], __activation_pool_end[];
extern uint8_t __kv_cache_pool_start[], __kv_cache_pool_end[];

struct memory_pool weight_pool = {.name = "WEIGHT_POOL"};
struct memory_pool activation_pool = {.name = "ACTIVATION_POOL"};
struct memory_pool kv_cache_pool = {.name = "KV_CACHE_POOL"};
struct memory_pool *const pools[POOL_COUNT] = {&weight_pool, &activation_pool, &kv_cache_pool};

void *pool_take(struct memory_pool *pool, size_t bytes, size_t align) {
    uintptr_t free = (uintptr_t)pool->base + pool->used;
    size_t gap = -free & (align - 1);
    size_t left = pool->bytes - pool->used;
    if (gap > left || bytes > left - gap)
        return NULL;
    pool->used += gap + bytes;
    return (void *)(free + gap);
}

void pool_reset(struct memory_pool *pool) { pool->used = 0; }

#define POOL_ALIGN UINT64_C(0x200000) // so that 2 MiB blocks map it

static void check_place(const struct memory_pool *pool) {
    static const struct {
        uint64_t base, bytes;
    } ram[] = BOARD_RAM_REGIONS;

    uint64_t base = (uintptr_t)pool->base, end = base + pool->bytes;
    if (base % POOL_ALIGN)
        panic("%s at %lx is not aligned to 2 MiB", pool->name, base);
    if (base < (uintptr_t)__image_end && end > (uintptr_t)__image_start)
        panic("%s overlaps the firmware image", pool->name);
    for (unsigned i = 0; i < sizeof ram / sizeof ram[0]; i++)
        if (base >= ram[i].base && end <= ram[i].base + ram[i].bytes)
            return;
    panic("%s, %lx..%lx, is not inside the board's RAM", pool->name, base, end);
}

static bool overlap(const struct memory_pool *a, const struct memory_pool *b) {
    return a->base < b->base + b->bytes && b->base < a->base + a->bytes;
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
    for (unsigned i = 0; i < POOL_COUNT; i++) {
        check_place(pools[i]);
        for (unsigned other = 0; other < i; other++)
            if (overlap(pools[i], pools[other]))
                panic("%s overlaps %s", pools[i]->name, pools[other]->name);
    }
}
