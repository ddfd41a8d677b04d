// SPDX-License-Identifier: Apache-2.0
// The int8 route of long prompts: quantization into tiles, and the GEMM.
#include "checkasm/checkasm.h"
#include "kernels/reference/reference.h"

#define TIMED_ROWS  128
#define SHORT_BLOCK 96

enum filling { RANDOM, EQUAL, OPPOSITE, FILLINGS };

static unsigned whole_tiles(unsigned rows) {
    return (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

static struct int8_activations make_tiles(unsigned rows, unsigned k, unsigned block) {
    const unsigned padded = whole_tiles(rows);
    return (struct int8_activations){guarded((size_t)padded * k),
                                     guarded(padded * int8_blocks(k, block) * sizeof(int32_t)),
                                     guarded(padded * sizeof(float)), k, block};
}

static void compare_tiles(const struct int8_activations *a, const struct int8_activations *b, unsigned rows) {
    const unsigned padded = whole_tiles(rows);
    expect_bytes("values", a->values, b->values, (size_t)padded * a->k);
    expect_ints("steps", a->steps, b->steps, (size_t)padded * int8_blocks(a->k, a->block));
    expect_floats("row scales", a->row_scales, b->row_scales, padded);
}

struct shape {
    unsigned rows, k, padded_k, block;
};

// `poison` takes the place of one value of the first row.
static void quantize_case(bool in_panels, struct shape s, float factor, float poison, bool timed) {
    const struct float_rows whole = {.row = s.k + 4, .panel = 16}, panels = {.row = 16, .panel = s.rows * 16};
    struct float_rows from = in_panels ? panels : whole;
    const size_t count = in_panels ? s.rows * s.k : s.rows * whole.row;
    float *x = guarded(count * sizeof(float)), *smoothing = guarded(s.k * sizeof(float));
    random_activations(x, count);
    for (size_t i = 0; i < count; i++)
        x[i] *= factor;
    for (unsigned i = 0; i < s.k; i++)
        smoothing[i] = 1.0f + random_float(0.9f);
    if (poison != 0.0f)
        x[random_below(16)] = poison;
    from.x = x;
    struct int8_activations got = make_tiles(s.rows, s.padded_k, s.block),
                            expected = make_tiles(s.rows, s.padded_k, s.block);
    struct call call = {.x = {POINTER(&from), ARG(s.rows), ARG(s.k), POINTER(smoothing), POINTER(&got)}};
    if (timed)
        warm_up((const void *)quantize_tiles, &call);
    call_kernel((const void *)quantize_tiles, &call, timed);
    call.x[4] = POINTER(&expected);
    call_reference((const void *)reference_quantize_tiles, &call, timed, (uint64_t)s.rows * s.k);
    compare_tiles(&got, &expected, s.rows);
}

// `variant` 1: columns come in panels of 16.
static void check_quantize_tiles(const struct check *check) {
    const bool p = check->variant;
    quantize_case(p, (struct shape){1, 32, 64, 96}, 1.0f, 0.0f, false);
    quantize_case(p, (struct shape){7, 160, 192, 96}, 1e-20f, 0.0f, false);
    quantize_case(p, (struct shape){9, 576, 576, 96}, 1e20f, 0.0f, false);
    quantize_case(p, (struct shape){8, 96, 96, 32}, 0.0f, 0.0f, false);
    quantize_case(p, (struct shape){3, 64, 128, 32}, 1e-36f, 0.0f, false);
    quantize_case(p, (struct shape){2, 64, 64, 64}, 1.0f, __builtin_nanf("31"), false);
    quantize_case(p, (struct shape){12, 256, 256, 192}, 1.0f, -__builtin_inff(), false);
    quantize_case(p, (struct shape){1, 64, 64, 96}, 1.0f, 1e38f, false);
    const struct shape timed = {16, 1536, 1536, SHORT_BLOCK};
    add_bound((uint64_t)timed.rows * timed.k * 25 / 32);
    quantize_case(p, timed, 1.0f, 0.0f, true);
}

// Weights, and activations as quantized values: the extremes put both at their limits, with equal or opposite
// signs.
static void fill(int8_t *to, size_t count, int32_t limit, enum filling filling, int32_t sign) {
    for (size_t i = 0; i < count; i++)
        to[i] = (int8_t)(filling == RANDOM ? (int32_t)random_below((uint32_t)(2 * limit + 1)) - limit
                                           : sign * limit);
}

static struct int8_panel fill_panel(unsigned k, enum filling filling) {
    struct int8_panel panel = {.weights = guarded((size_t)PANEL_COLUMNS * k), .k = k};
    fill(panel.weights, (size_t)PANEL_COLUMNS * k, ACTIVATION_MAX, filling, 1);
    for (unsigned i = 0; i < PANEL_COLUMNS; i++)
        panel.columns[i] = random_float(1e-3f);
    return panel;
}

static struct int8_activations fill_tiles(unsigned rows, unsigned k, unsigned block, enum filling filling) {
    struct int8_activations a = make_tiles(rows, k, block);
    const unsigned padded = whole_tiles(rows), blocks = int8_blocks(k, block);
    fill(a.values, (size_t)padded * k, ACTIVATION_MAX, filling, filling == EQUAL ? 1 : -1);
    for (unsigned row = 0; row < padded; row++) {
        int32_t before = 0;
        a.row_scales[row] = random_float(1e-3f);
        for (unsigned b = blocks; b-- > 0;) {
            int32_t scale = filling == RANDOM ? (int32_t)random_below(INT32_MAX) : INT32_MAX;
            a.steps[tile_step(&a, row, b)] = scale - before;
            before = scale;
        }
    }
    return a;
}

static void gemm_case(unsigned from, unsigned to, unsigned k, unsigned block, enum filling filling,
                      bool timed) {
    const unsigned rows = to - from;
    struct int8_panel panel = fill_panel(k, filling);
    struct int8_activations a = fill_tiles(to, k, block, filling);
    const size_t stride = PANEL_COLUMNS + 16;
    float *got = guarded(rows * stride * sizeof(float)), *expected = guarded(rows * stride * sizeof(float));
    struct call call = {.x = {POINTER(&panel), POINTER(&a), ARG(from), ARG(to), POINTER(got), stride}};
    if (timed)
        warm_up((const void *)gemm_int8_panel, &call);
    call_kernel((const void *)gemm_int8_panel, &call, timed);
    call.x[4] = POINTER(expected);
    call_reference((const void *)reference_gemm_int8_panel, &call, timed, (uint64_t)rows * k * PANEL_COLUMNS);
    expect_floats("y", got, expected, rows * stride); // what lies between the rows must stay 0
}

static void check_gemm_int8(const struct check *check) {
    (void)check;
    for (unsigned rows = 1; rows <= 9; rows++)
        gemm_case(0, rows, 32 * rows, SHORT_BLOCK, RANDOM, false);
    for (unsigned from = 1; from <= 8; from++)
        gemm_case(from, from * 3, 192, SHORT_BLOCK, RANDOM, false);
    for (unsigned block = 32; block <= 256; block += 32)
        gemm_case(0, 8, 416, block, RANDOM, false);
    for (enum filling filling = RANDOM; filling < FILLINGS; filling++)
        gemm_case(0, 17, 8960, SHORT_BLOCK, filling, false);
}

// `variant` is k.
static void time_gemm_int8(const struct check *check) {
    const unsigned k = (unsigned)check->variant, quads = TIMED_ROWS / TILE_ROWS * 4;
    add_bound((uint64_t)quads * (k + 8 * int8_blocks(k, int8_block(k)) + 20));
    gemm_case(0, TIMED_ROWS, k, int8_block(k), RANDOM, true);
}

const struct check checks_int8[] = {
    {"quantize_tiles", check_quantize_tiles, 0}, {"quantize_tiles_panels", check_quantize_tiles, 1},
    {"gemm_int8", check_gemm_int8, 0},           {"gemm_int8_576", time_gemm_int8, 576},
    {"gemm_int8_1536", time_gemm_int8, 1536},    {NULL, NULL, 0},
};
