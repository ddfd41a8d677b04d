// SPDX-License-Identifier: Apache-2.0
// Quantization, dequantization and the matrix kernels, for every weight format.
#include "arch/string.h"
#include "checkasm/checkasm.h"
#include "checkasm/panels.h"
#include "kernels/embed.h"
#include "kernels/linear.h"
#include "kernels/reference/reference.h"

#define ROWS_MAX 19
#define TIMED_K  1536

static struct activations make_activations(unsigned rows, unsigned k) {
    return (struct activations){
        guarded((size_t)rows * k), guarded(rows * k / GROUP * sizeof(struct group_scale)),
        guarded(rows * k / GROUP * sizeof(int32_t)), guarded(rows * sizeof(float)), k};
}

// Quantized rows; the extremes have every value and scale at its limit.
static struct activations fill_activations(unsigned rows, unsigned k, enum filling filling) {
    struct activations a = make_activations(rows, k);
    float *x = guarded((size_t)rows * k * sizeof(float));
    for (unsigned i = 0; i < rows * k; i++)
        x[i] = filling == HIGHEST ? 1.0f : -1.0f;
    if (filling == RANDOM)
        random_activations(x, (size_t)rows * k);
    reference_quantize_rows(x, k, rows, k, &a);
    return a;
}

static struct panel make_dequantized(unsigned k) {
    return (struct panel){guarded(panel_weights_bytes(k)), guarded(panel_scales_bytes(k)),
                          guarded(PANEL_COLUMNS * sizeof(float)), k, PANEL_SCALE};
}

static void compare_activations(const struct activations *a, const struct activations *b, unsigned rows) {
    expect_bytes("values", a->values, b->values, (size_t)rows * a->k);
    expect_ints("groups", &a->groups->scale, &b->groups->scale, (size_t)rows * a->k / GROUP * 2);
    expect_ints("low sums", a->low_sums, b->low_sums, (size_t)rows * a->k / GROUP);
    expect_floats("row scales", a->row_scales, b->row_scales, rows);
}

static void quantize_case(unsigned rows, unsigned k, float factor, float poison, bool timed) {
    size_t stride = k + 4;
    float *x = guarded(rows * stride * sizeof(float));
    random_activations(x, rows * stride);
    for (size_t i = 0; i < rows * stride; i++)
        x[i] *= factor;
    if (poison != 0.0f)
        x[random_below(k)] = poison;
    struct activations got = make_activations(rows, padded_k(k)),
                       expected = make_activations(rows, padded_k(k));
    struct call call = {.x = {POINTER(x), stride, ARG(rows), ARG(k), POINTER(&got)}};
    call_kernel((const void *)quantize_rows, &call, timed);
    call.x[4] = POINTER(&expected);
    call_reference((const void *)reference_quantize_rows, &call, timed, (uint64_t)rows * k);
    compare_activations(&got, &expected, rows);
}

static void check_quantize(const struct check *check) {
    (void)check;
    quantize_case(1, 32, 1.0f, 0.0f, false);
    quantize_case(3, 96, 1e-20f, 0.0f, false);
    quantize_case(2, 576, 1e20f, 0.0f, false);
    quantize_case(1, 64, 0.0f, 0.0f, false);
    quantize_case(1, 64, 1e-36f, 0.0f, false);
    quantize_case(2, 64, 1.0f, __builtin_nanf(""), false);
    quantize_case(2, 64, 1.0f, -__builtin_inff(), false);
    quantize_case(1, 64, 1.0f, 3e38f, false);
    quantize_case(4, TIMED_K, 1.0f, 0.0f, true);
}

static void dequantize_case(enum tensor_format format, unsigned k, enum filling filling, bool timed) {
    const uint8_t *packs = make_panel(format, k, filling);
    struct panel got = make_dequantized(k), expected = make_dequantized(k);
    struct call call = {.x = {ARG(format), POINTER(packs), ARG(k), POINTER(&got)}};
    call_kernel((const void *)dequantize_panel, &call, timed);
    call.x[3] = POINTER(&expected);
    call_reference((const void *)reference_dequantize_panel, &call, timed, (uint64_t)k * PANEL_COLUMNS);
    if (got.k != k || got.kind != expected.kind)
        fail("k %u, kind %d, expected %u and %d", got.k, got.kind, k, expected.kind);
    expect_bytes("weights", got.weights, expected.weights, panel_weights_bytes(k));
    expect_ints("scales", got.scales, expected.scales, panel_scales_bytes(k) / sizeof(int32_t));
    expect_floats("columns", got.columns, expected.columns, PANEL_COLUMNS);
}

static void check_dequantize(const struct check *check) {
    unsigned step = pack_geometry(check->variant).k;
    for (unsigned packs = 1; packs <= 3; packs++)
        dequantize_case(check->variant, packs * step, RANDOM, false);
    dequantize_case(check->variant, step, HIGHEST, false);
    dequantize_case(check->variant, step, LOWEST, false);
    dequantize_case(check->variant, TIMED_K, RANDOM, true);
}

static void gemv_case(enum tensor_format format, unsigned k, unsigned panels, enum filling weights,
                      enum filling input, bool timed) {
    size_t bytes = panel_bytes(format, k), outputs = panels * PANEL_COLUMNS;
    uint8_t *packs = guarded(panels * bytes);
    for (unsigned i = 0; i < panels; i++)
        fill_panel(packs + i * bytes, format, k, weights);
    struct activations a = fill_activations(1, k, input);
    float *got = guarded(outputs * sizeof(float)), *expected = guarded(outputs * sizeof(float));
    struct call call = {.x = {ARG(format), POINTER(packs), ARG(panels), POINTER(&a), POINTER(got)}};
    call_kernel((const void *)gemv_panels, &call, timed);
    call.x[4] = POINTER(expected);
    call_reference((const void *)reference_gemv_panels, &call, timed, (uint64_t)k * outputs);
    expect_floats("y", got, expected, outputs);
}

static void check_gemv(const struct check *check) {
    unsigned step = pack_geometry(check->variant).k;
    for (unsigned packs = 1; packs <= 4; packs++)
        gemv_case(check->variant, packs * step, packs, RANDOM, RANDOM, false);
    for (enum filling weights = RANDOM; weights < FILLINGS; weights++)
        for (enum filling input = RANDOM; input < FILLINGS; input++)
            gemv_case(check->variant, 2 * step, 1, weights, input, false);
    gemv_case(check->variant, TIMED_K, 4, RANDOM, RANDOM, true);
}

static void gemm_case(enum tensor_format format, unsigned rows, unsigned k, enum filling weights,
                      enum filling input, bool timed) {
    struct panel panel = make_dequantized(k);
    reference_dequantize_panel(format, make_panel(format, k, weights), k, &panel);
    struct activations a = fill_activations(rows, k, input);
    size_t stride = PANEL_COLUMNS + 16;
    float *got = guarded(rows * stride * sizeof(float)), *expected = guarded(rows * stride * sizeof(float));
    struct call call = {.x = {POINTER(&panel), POINTER(&a), ARG(rows), POINTER(got), stride}};
    if (timed) {
        // V slots per row, quad and group: 8 SDOT, one or two sums to clear, MUL two, SMLAL two, LD1R one; a
        // second scale or a minimum two and one more.
        static const unsigned slots[] = {
            [PANEL_SCALE] = 14, [PANEL_SCALE_MINIMUM] = 17, [PANEL_TWO_SCALES] = 17};
        add_bound((uint64_t)rows * (k / GROUP) * 4 * slots[panel.kind] / 2);
        warm_up((const void *)gemm_panel, &call);
    }
    call_kernel((const void *)gemm_panel, &call, timed);
    call.x[3] = POINTER(expected);
    call_reference((const void *)reference_gemm_panel, &call, timed, (uint64_t)rows * k * PANEL_COLUMNS);
    expect_floats("y", got, expected, rows * stride); // what lies between the rows must stay 0
}

// `variant` is a format of each kind of panel.
static void check_gemm(const struct check *check) {
    unsigned step = pack_geometry(check->variant).k;
    for (unsigned rows = 1; rows <= 4; rows++)
        gemm_case(check->variant, rows, step, RANDOM, RANDOM, false);
    gemm_case(check->variant, ROWS_MAX, step, HIGHEST, LOWEST, false);
    gemm_case(check->variant, 8, 2 * step, LOWEST, LOWEST, false);
    gemm_case(check->variant, 32, TIMED_K / 2, RANDOM, RANDOM, true);
}

// The route through a dequantized panel equals the fused one, for every format.
static void check_routes(const struct check *check) {
    unsigned k = 2 * K_PACK;
    const uint8_t *packs = make_panel(check->variant, k, RANDOM);
    struct activations a = fill_activations(ROWS_MAX, k, RANDOM);
    struct panel panel = make_dequantized(k);
    float *fused = guarded(ROWS_MAX * PANEL_COLUMNS * sizeof(float));
    float *batched = guarded(ROWS_MAX * PANEL_COLUMNS * sizeof(float));
    dequantize_panel(check->variant, packs, k, &panel);
    gemm_panel(&panel, &a, ROWS_MAX, batched, PANEL_COLUMNS);
    for (unsigned row = 0; row < ROWS_MAX; row++) {
        struct activations x = activations_from(&a, row);
        gemv_panels(check->variant, packs, 1, &x, fused + row * PANEL_COLUMNS);
    }
    expect_floats("y", fused, batched, ROWS_MAX * PANEL_COLUMNS);
}

static void check_embed(const struct check *check) {
    unsigned k = has_blocks_of_256(check->variant) ? 2 * K_PACK : 96, tokens = 35;
    size_t panels = (tokens + PANEL_COLUMNS - 1) / PANEL_COLUMNS, bytes = panel_bytes(check->variant, k);
    uint8_t *matrix = guarded(panels * bytes);
    for (size_t i = 0; i < panels; i++)
        fill_panel(matrix + i * bytes, check->variant, padded_k(k), RANDOM);
    struct panel scratch = make_dequantized(padded_k(k));
    float *got = guarded(k * sizeof(float)), *expected = guarded(k * sizeof(float));
    for (uint32_t token = 0; token < tokens; token += 17) {
        struct call call = {
            .x = {ARG(check->variant), POINTER(matrix), ARG(k), ARG(token), POINTER(&scratch), POINTER(got)}};
        call_kernel((const void *)embed_row, &call, true);
        call.x[4] = POINTER(expected);
        call_reference((const void *)reference_embed_row, &call, true, k);
        expect_floats("x", got, expected, k);
    }
}

const struct check checks_linear[] = {
    {"quantize_rows", check_quantize, 0},
    EACH_FORMAT("dequantize", check_dequantize),
    EACH_FORMAT("gemv", check_gemv),
    {"gemm_scale", check_gemm, TENSOR_FORMAT_Q8_0},
    {"gemm_scale_minimum", check_gemm, TENSOR_FORMAT_Q4_1},
    {"gemm_two_scales", check_gemm, TENSOR_FORMAT_Q6_K},
    EACH_FORMAT("gemv_equals_gemm", check_routes),
    EACH_FORMAT("embed", check_embed),
    {NULL, NULL, 0},
};
