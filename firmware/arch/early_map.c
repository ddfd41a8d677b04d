// SPDX-License-Identifier: Apache-2.0
// Page tables from a list of regions: 2 MiB blocks where a region covers one, 4 KiB pages elsewhere,
// addresses unchanged. Runs once, before the MMU is on. Arm ARM D8.3 (VMSAv8-64 descriptors).

#include <stddef.h>

#include "arch/early.h"
#include "arch/mmu.h"
#include "board_config.h"

#define ENTRIES    512u
#define TABLES_MAX 32u

#define DESCRIPTOR_BLOCK UINT64_C(1)
#define DESCRIPTOR_TABLE UINT64_C(3)
#define DESCRIPTOR_PAGE  UINT64_C(3)
#define ADDRESS_MASK     UINT64_C(0x0000fffffffff000)

#define ATTRIBUTE_INDEX(n) ((uint64_t)(n) << 2) // into MAIR_VALUE
#define READ_ONLY          (UINT64_C(1) << 7)
#define INNER_SHAREABLE    (UINT64_C(3) << 8)
#define OUTER_SHAREABLE    (UINT64_C(2) << 8)
#define ACCESS_FLAG        (UINT64_C(1) << 10)
#define NO_EXECUTE         (UINT64_C(3) << 53) // at EL1 and EL0
#define NO_EXECUTE_EL0     (UINT64_C(1) << 54)

static const uint64_t attributes[] = {
    [REGION_CODE] = ATTRIBUTE_INDEX(1) | INNER_SHAREABLE | ACCESS_FLAG | READ_ONLY | NO_EXECUTE_EL0,
    [REGION_READ_ONLY] = ATTRIBUTE_INDEX(1) | INNER_SHAREABLE | ACCESS_FLAG | READ_ONLY | NO_EXECUTE,
    [REGION_DATA] = ATTRIBUTE_INDEX(1) | INNER_SHAREABLE | ACCESS_FLAG | NO_EXECUTE,
    [REGION_TRANSIENT] = ATTRIBUTE_INDEX(3) | INNER_SHAREABLE | ACCESS_FLAG | NO_EXECUTE,
    [REGION_SHARED] = ATTRIBUTE_INDEX(2) | OUTER_SHAREABLE | ACCESS_FLAG | NO_EXECUTE,
    [REGION_DEVICE] = ATTRIBUTE_INDEX(0) | OUTER_SHAREABLE | ACCESS_FLAG | NO_EXECUTE,
};

struct region regions[REGIONS_MAX];
unsigned region_count;

static uint64_t tables[TABLES_MAX][ENTRIES] __attribute__((aligned(4096)));
static unsigned table_count;

extern uint8_t __text_start[], __text_end[], __rodata_start[], __rodata_end[];
extern uint8_t __data_start[], __data_end[], __bss_start[], __bss_end[], __rtt_start[], __rtt_end[];
extern uint8_t __stack_guard[], __stack_bottom[], __stack_top[];
extern uint8_t __weight_pool_start[], __weight_pool_end[], __activation_pool_start[], __activation_pool_end[];
extern uint8_t __kv_cache_pool_start[], __kv_cache_pool_end[], __npu_pool_start[], __npu_pool_end[];

static uint64_t *new_table(const char *region) {
    if (table_count == TABLES_MAX)
        early_panic("out of page tables for region ", region);
    return tables[table_count++]; // zero: start.S cleared it
}

/// The table one level below `entry`, made on first use.
static uint64_t *next_table(uint64_t *entry, const char *region) {
    if (*entry == 0)
        *entry = (uint64_t)(uintptr_t)new_table(region) | DESCRIPTOR_TABLE;
    if ((*entry & 3) != DESCRIPTOR_TABLE)
        early_panic("a block is mapped already below region ", region);
    return (uint64_t *)(uintptr_t)(*entry & ADDRESS_MASK);
}

static void set_entry(uint64_t *entry, uint64_t value, const char *region) {
    if (*entry != 0)
        early_panic("two regions overlap; the second is ", region);
    *entry = value;
}

static void map_region(uint64_t *root, const struct region *region) {
    uint64_t flags = attributes[region->kind];
    for (uint64_t at = region->base; at < region->end;) {
        uint64_t *middle = next_table(&root[at >> 30 & (ENTRIES - 1)], region->name);
        uint64_t *entry = &middle[at >> 21 & (ENTRIES - 1)];
        if (at % BLOCK_SIZE == 0 && region->end - at >= BLOCK_SIZE) {
            set_entry(entry, at | flags | DESCRIPTOR_BLOCK, region->name);
            at += BLOCK_SIZE;
        } else {
            uint64_t *last = next_table(entry, region->name);
            set_entry(&last[at >> 12 & (ENTRIES - 1)], at | flags | DESCRIPTOR_PAGE, region->name);
            at += PAGE_SIZE;
        }
    }
}

static void add(const char *name, uint64_t base, uint64_t end, enum region_kind kind) {
    if (base == end)
        return;
    if (base % PAGE_SIZE || end % PAGE_SIZE || base > end || end > UINT64_C(1) << 39)
        early_panic("bounds that are not pages: region ", name);
    if (region_count == REGIONS_MAX)
        early_panic("too many regions at ", name);
    struct region *region = &regions[region_count++];
    region->name = name;
    region->base = base;
    region->end = end;
    region->kind = kind;
}

static uint64_t address(const uint8_t *symbol) {
    return (uint64_t)(uintptr_t)symbol;
}

uint64_t *early_map(void) {
    static const struct { uint64_t base, bytes; } devices[] = BOARD_DEVICE_REGIONS;

    add("text", address(__text_start), address(__text_end), REGION_CODE);
    add("rodata", address(__rodata_start), address(__rodata_end), REGION_READ_ONLY);
    add("data", address(__data_start), address(__bss_end), REGION_DATA);
    add("rtt", address(__rtt_start), address(__rtt_end), REGION_SHARED);
    // One guard page, which stays unmapped, and one stack for each core.
    uint64_t stride = address(__stack_top) - address(__stack_guard);
    for (unsigned core = 0; core < BOARD_CORES; core++)
        add("stack", address(__stack_bottom) + core * stride, address(__stack_top) + core * stride,
            REGION_DATA);
    // The console has put the weights there before the first instruction; nobody writes them any more.
    add("weight_pool", address(__weight_pool_start), address(__weight_pool_end), REGION_READ_ONLY);
    add("activation_pool", address(__activation_pool_start), address(__activation_pool_end), REGION_DATA);
    add("kv_cache_pool", address(__kv_cache_pool_start), address(__kv_cache_pool_end), REGION_DATA);
    // What a core takes of it or leaves in it, it does not need again: L2 is for other data.
    add("npu_pool", address(__npu_pool_start), address(__npu_pool_end), REGION_TRANSIENT);
    for (unsigned i = 0; i < sizeof devices / sizeof devices[0]; i++)
        add("registers", devices[i].base, devices[i].base + devices[i].bytes, REGION_DEVICE);

    uint64_t *root = new_table("root");
    for (unsigned i = 0; i < region_count; i++)
        map_region(root, &regions[i]);
    return root;
}
