// SPDX-License-Identifier: Apache-2.0
// Requantization of every weight format for the int8 route, and of q4_1 by tables.
#include "arch/string.h"
#include "checkasm/checkasm.h"
#include "checkasm/panels.h"
#include "kernels/reference/reference.h"

#define TIMED_K        1536
#define PANELS         2
#define MULTIPLIER_MAX 2040 // 4095 * 2040 / 2^15 is the largest A
#define UNIT_MAX       258  // 127 * 258 fits int16

// Random smoothing, with padding in the last channels, and multipliers; the extremes have all at their
// limits.
static struct requantization make_parts(unsigned k, enum filling filling) {
    int16_t *products = guarded(k * sizeof(int16_t));
    int8_t *smoothing = guarded(k);
    float *columns = guarded(PANELS * PANEL_COLUMNS * sizeof(float));
    int16_t *multipliers = guarded(PANELS * PANEL_COLUMNS * sizeof(int16_t));
    const unsigned unit = filling == RANDOM ? 1 + random_below(UNIT_MAX) : UNIT_MAX;
    for (unsigned i = 0; i < k; i++) {
        smoothing[i] = (int8_t)(filling == RANDOM ? 1 + random_below(127) : 127);
        if (filling == RANDOM && i >= k - 8)
            smoothing[i] = 0;
        products[i] = (int16_t)(smoothing[i] * (int)unit);
    }
    for (unsigned i = 0; i < PANELS * PANEL_COLUMNS; i++) {
        columns[i] = random_float(1.0f);
        multipliers[i] = (int16_t)(filling == RANDOM ? 1 + random_below(MULTIPLIER_MAX) : MULTIPLIER_MAX);
    }
    return (struct requantization){NULL, products, smoothing, columns, multipliers};
}

// Cycles that 32 weights need at least: of V0, or with a fifth or sixth bit of both vector pipes
// (requantize_macros.h and the .S files). The integers of groups come on top.
static uint64_t bound_of_32(enum tensor_format format) {
    switch (format) {
    case TENSOR_FORMAT_Q5_0:
    case TENSOR_FORMAT_Q6_K:
        return 13;
    case TENSOR_FORMAT_Q5_1:
    case TENSOR_FORMAT_Q5_K:
        return 14;
    default:
        return 12;
    }
}

static void requantize_case(enum tensor_format format, unsigned k, unsigned index, enum filling filling,
                            bool timed) {
    const uint8_t *packs = make_panel(format, k, filling);
    struct requantization by = make_parts(k, filling);
    struct int8_panel got = {.weights = guarded(int8_panel_bytes(k))},
                      expected = {.weights = guarded(int8_panel_bytes(k))};
    struct call call = {.x = {ARG(format), POINTER(packs), ARG(index), ARG(k), POINTER(&by), POINTER(&got)}};
    call_kernel((const void *)requantize_panel, &call, timed);
    call.x[5] = POINTER(&expected);
    call_reference((const void *)reference_requantize_panel, &call, timed, (uint64_t)k * PANEL_COLUMNS);
    if (timed)
        add_bound((uint64_t)k * PANEL_COLUMNS / 32 * bound_of_32(format));
    if (got.k != k)
        fail("k %u, expected %u", got.k, k);
    expect_bytes("weights", got.weights, expected.weights, int8_panel_bytes(k));
    expect_floats("columns", got.columns, expected.columns, PANEL_COLUMNS);
}

static void check_requantize(const struct check *check) {
    unsigned step = pack_geometry(check->variant).k;
    for (unsigned packs = 1; packs <= 3; packs++)
        requantize_case(check->variant, packs * step, packs % PANELS, RANDOM, false);
    requantize_case(check->variant, step, 0, HIGHEST, false);
    requantize_case(check->variant, step, 1, LOWEST, false);
    requantize_case(check->variant, TIMED_K, 0, RANDOM, true);
}

#define TABLE_BOUND 118 // cycles of 16 columns x 32 k: requantize_table.S

static void requantize_table_case(unsigned k, enum filling filling, bool timed) {
    const uint8_t *packs = make_panel(TENSOR_FORMAT_Q4_1, k, filling);
    int16_t *multipliers = guarded(PANEL_COLUMNS * sizeof(int16_t));
    int8_t *got = guarded(int8_panel_bytes(k)), *expected = guarded(int8_panel_bytes(k));
    for (unsigned i = 0; i < PANEL_COLUMNS; i++)
        multipliers[i] = (int16_t)(filling == RANDOM ? 1 + random_below(INT16_MAX) : INT16_MAX);
    struct call call = {.x = {POINTER(packs), POINTER(got), k, POINTER(multipliers)}};
    call_kernel((const void *)requantize_table_q4_1, &call, timed);
    call.x[1] = POINTER(expected);
    call_reference((const void *)reference_requantize_table_q4_1, &call, timed, (uint64_t)k * PANEL_COLUMNS);
    if (timed)
        add_bound((uint64_t)k / GROUP * TABLE_BOUND);
    expect_bytes("weights", (const uint8_t *)got, (const uint8_t *)expected, int8_panel_bytes(k));
}

static void check_requantize_table(const struct check *check) {
    (void)check;
    unsigned step = pack_geometry(TENSOR_FORMAT_Q4_1).k;
    for (unsigned packs = 1; packs <= 3; packs++)
        requantize_table_case(packs * step, RANDOM, false);
    requantize_table_case(step, HIGHEST, false);
    requantize_table_case(step, LOWEST, false);
    requantize_table_case(TIMED_K, RANDOM, true);
}

const struct check checks_requantize[] = {
    EACH_FORMAT("requantize", check_requantize),
    {"requantize_table_q4_1", check_requantize_table, 0},
    {NULL, NULL, 0},
};
