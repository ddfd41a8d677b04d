// SPDX-License-Identifier: Apache-2.0
// What runs before the MMU is on, when all data accesses are Device accesses: start.S and arch/early_*.c,
// which are compiled with -mstrict-align -mgeneral-regs-only. Nothing else may be called from there.
#pragma once

// SCTLR_EL1: the bits that are res1; then MMU, data cache, SP alignment check, instruction cache, write
// implies execute-never.
#define SCTLR_OFF 0x30d00800
#define SCTLR_ON  (SCTLR_OFF | 1 << 0 | 1 << 2 | 1 << 3 | 1 << 12 | 1 << 19)

// MAIR_EL1, by attribute index: 0 Device-nGnRE, 1 Normal write-back, 2 Normal non-cacheable, 3 Normal
// write-back transient.
#define MAIR_VALUE 0x7744ff04

// TCR_EL1: 39-bit addresses by TTBR0 alone, 4 KiB granule, walks inner shareable through write-back caches,
// 40-bit physical.
#define TCR_VALUE (25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 2 << 32)

// Offsets in struct core_entry, for start.S.
#define ENTRY_ROOT  0
#define ENTRY_STACK 8
#define ENTRY_CORE  16

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

/// What a core that PSCI starts needs before its MMU is on. It reads memory behind the caches then: who fills
/// this in must clean it.
struct core_entry {
    uint64_t root;  // of the page tables
    uint64_t stack; // its top
    uint64_t core;  // number
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct core_entry, root) == ENTRY_ROOT, "start.S loads it from there");
_Static_assert(offsetof(struct core_entry, stack) == ENTRY_STACK, "start.S loads it from there");
_Static_assert(offsetof(struct core_entry, core) == ENTRY_CORE, "start.S loads it from there");

/// Fills the page tables from the linker's symbols and the board's registers. Returns the root table.
uint64_t *early_map(void);

/// Says on the UART why the board cannot start, and parks. `detail` may be NULL.
_Noreturn void early_panic(const char *what, const char *detail);
#endif
