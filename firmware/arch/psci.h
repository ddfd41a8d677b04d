// SPDX-License-Identifier: Apache-2.0
// Power State Coordination Interface 1.1 (Arm DEN0022): starts and stops cores through the firmware below.
#pragma once

#include <stdint.h>

#include "board_config.h"

#define PSCI_CPU_ON        UINT64_C(0xc4000003) // core id, entry, value for its x0
#define PSCI_AFFINITY_INFO UINT64_C(0xc4000004) // core id, 0: returns 0 on, 1 off, 2 about to be on

#define PSCI_SUCCESS 0 // errors are negative

/// Set by start.S: whoever is at EL2 cannot be reached by HVC then, because that was us.
extern uint8_t entered_at_el2;

/// Calls `function` with up to three arguments; returns what it returns, sign-extended.
static inline int64_t psci_call(uint64_t function, uint64_t a, uint64_t b, uint64_t c) {
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = a;
    register uint64_t x2 __asm__("x2") = b;
    register uint64_t x3 __asm__("x3") = c;
#define PSCI_BY(instruction)                                                                                 \
    __asm__ volatile(instruction " #0"                                                                       \
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)                                                \
                     :                                                                                       \
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",  \
                       "x17", "memory")
    if (BOARD_PSCI_HVC && !entered_at_el2)
        PSCI_BY("hvc");
    else
        PSCI_BY("smc");
#undef PSCI_BY
    return (int32_t)x0; // 32-bit functions leave the upper half undefined
}
