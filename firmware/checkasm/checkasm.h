// SPDX-License-Identifier: Apache-2.0
// Every fast kernel against its reference, on the machine that will run it: random and worst-case inputs, odd
// sizes, guarded buffers, and a trampoline that checks the calling convention.
//
// One line per kernel, as log text:
//   checkasm NAME ok cycles C ref R work W bound B
//   checkasm NAME FAIL DETAIL
// C and R are cycles of the kernel and of its reference on the same input of W multiply-accumulates or
// elements, by the board's counters (0 where it has none). B is the static bound: cycles that the busiest
// pipe of a Cortex-A76 needs, as the kernel's source counts them; 0 where it does not. The last line is
// `checkasm done N passed M failed`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One entry of the table: runs a kernel and its reference on inputs of its own making.
struct check {
    const char *name;
    void (*run)(const struct check *check);
    int variant; // what distinguishes entries with the same function, such as a format
};

extern const struct check checks_linear[], checks_requantize[], checks_float[], checks_int8[],
    checks_attention[]; // each ends with a NULL name

/// Seed of all inputs; a console may write another one before the image starts.
extern uint64_t checkasm_seed;

/// Checks whose names begin with this are run; a console may write something here before the image starts.
extern char checkasm_only[64];

/// Takes the memory for all buffers. False when the activation pool is too small.
bool checks_init(void);

// Random inputs.
uint64_t random_bits(void);
uint32_t random_below(uint32_t limit); // 0..limit - 1
float random_float(float limit);       // uniform in -limit..limit
/// Activations as models have them: mostly small, a few outliers.
void random_activations(float *x, size_t count);
void random_bytes(void *to, size_t bytes);
/// Rounds rows of x to half precision: `halves` has them then, `apart` values between one row and the next.
void narrow(float *x, unsigned rows, unsigned width, uint16_t *halves, size_t apart);

// Buffers of one check. All are released when the next one starts.
/// Cleared memory with a guard band on either side, aligned to 64 bytes plus `misalign`.
void *guarded(size_t bytes);
/// Memory for a pool.
struct memory_pool;
struct memory_pool guarded_pool(size_t bytes);

/// Arguments for checked_call(): integers and pointers in x0.., floats in s0... Use ARG for an int or
/// unsigned, whose upper half the convention leaves undefined: it gets junk.
struct call {
    uint64_t x[8];
    float s[4];
};
#define ARG(value)     ((uint64_t)(uint32_t)(value) | 0xfeedfacd00000000u)
#define POINTER(value) ((uint64_t)(uintptr_t)(value))

/// Calls the kernel with junk in every register that it may not read, and fails the check when it does not
/// preserve x19-x29, d8-d15, sp or the stack above its frame. Adds the cycles to the check's when `timed`.
void call_kernel(const void *kernel, const struct call *call, bool timed);
/// Calls the kernel once for its data to be in the caches, where what is timed should not be what DRAM costs.
void warm_up(const void *kernel, const struct call *call);
/// Calls the reference; only timed.
void call_reference(const void *reference, const struct call *call, bool timed, uint64_t work);

/// Adds to the static bound of what is timed.
void add_bound(uint64_t cycles);

/// Compares results; the first difference is reported with its index and both values.
void expect_bytes(const char *what, const void *got, const void *expected, size_t bytes);
void expect_ints(const char *what, const int32_t *got, const int32_t *expected, size_t count);
void expect_floats(const char *what, const float *got, const float *expected, size_t count); // bits
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Runs a table. Adds to the counts.
void run_checks(const struct check *table, unsigned *passed, unsigned *failed);
