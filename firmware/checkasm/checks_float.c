// SPDX-License-Identifier: Apache-2.0
// Norm, SwiGLU, addition, rotation and the sum of logits.
#include "arch/string.h"
#include "checkasm/checkasm.h"
#include "kernels/elementwise.h"
#include "kernels/exp2.h"
#include "kernels/logits.h"
#include "kernels/neon.h"
#include "kernels/reference/reference.h"
#include "kernels/rope.h"

static float *random_floats(size_t count) {
    float *x = guarded(count * sizeof(float));
    random_activations(x, count);
    return x;
}

static void check_rms_norm(const struct check *check) {
    (void)check;
    static const unsigned widths[] = {16, 32, 112, 64, 576};
    for (unsigned i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        unsigned k = widths[i], rows = 1 + i;
        size_t stride = k + 8;
        float *x = random_floats(rows * stride), *weight = random_floats(k);
        float *got = guarded(rows * stride * sizeof(float)),
              *expected = guarded(rows * stride * sizeof(float));
        struct call call = {.x = {POINTER(x), stride, ARG(rows), ARG(k), POINTER(weight), POINTER(got)},
                            .s = {1e-5f}};
        const bool timed = k == 576;
        if (timed) {
            add_bound((uint64_t)rows * k * 9 / 16); // .125 to sum, .4375 to scale: the load/store pipes
            warm_up((const void *)rms_norm_rows, &call);
        }
        call_kernel((const void *)rms_norm_rows, &call, timed);
        call.x[5] = POINTER(expected);
        call_reference((const void *)reference_rms_norm, &call, timed, (uint64_t)rows * k);
        expect_floats("out", got, expected, rows * stride);
    }
}

static void check_swiglu(const struct check *check) {
    (void)check;
    static const float special[] = {0.0f, -0.0f, 1e-30f, -1e-30f, 88.0f, -88.0f, 1e4f, -1e4f, 3e38f, -3e38f};
    size_t count = 1024, specials = sizeof special / sizeof special[0];
    float *gate = random_floats(count), *up = random_floats(count),
          *expected = guarded(count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        gate[i] = i < specials ? special[i] : gate[i] * 20.0f;
    memcpy(expected, gate, count * sizeof(float));
    // All of it, then columns of wider matrices, as forward passes have them.
    struct call call = {.x = {POINTER(gate), count, POINTER(up), count, ARG(1), ARG(count)}};
    warm_up((const void *)swiglu_rows, &call);
    memcpy(gate, expected, count * sizeof(float));
    add_bound(count * 21 / 8); // 21 V slots per vector
    for (unsigned columns = 0; columns <= 16; columns += 16) {
        if (columns != 0)
            call = (struct call){.x = {POINTER(gate), 64, POINTER(up), 32, ARG(16), ARG(columns)}};
        call_kernel((const void *)swiglu_rows, &call, columns == 0);
        call.x[0] = POINTER(expected);
        call_reference((const void *)reference_swiglu, &call, columns == 0, count);
    }
    expect_floats("gate", gate, expected, count);
}

static void check_swiglu_halves(const struct check *check) {
    (void)check;
    static const float special[] = {0.0f, -0.0f, 6e-8f, -6e-8f, 88.0f, -88.0f, 65504.0f, -65504.0f};
    const size_t count = 1024, specials = sizeof special / sizeof special[0];
    float *gate = random_floats(count), *up = random_floats(count);
    uint16_t *half_gate = guarded(count * sizeof(uint16_t)), *half_up = guarded(count * sizeof(uint16_t));
    for (size_t i = 0; i < count; i++)
        gate[i] = i < specials ? special[i] : gate[i] * 20.0f;
    narrow(gate, 1, (unsigned)count, half_gate, 0);
    narrow(up, 1, (unsigned)count, half_up, 0);
    // One row, then columns of wider matrices.
    for (unsigned columns = 0; columns <= 32; columns += 16) {
        const unsigned rows = columns ? 16 : 1, width = columns ? columns : (unsigned)count;
        const size_t stride = columns ? 64 : count, out_stride = columns ? columns + 16 : count;
        float *got = guarded(rows * out_stride * sizeof(float));
        float *expected = guarded(rows * out_stride * sizeof(float));
        struct call call = {.x = {POINTER(half_gate), stride, POINTER(half_up), stride, ARG(rows), ARG(width),
                                  POINTER(got), out_stride}};
        if (columns == 0) {
            add_bound(count * 25 / 8); // 25 V slots per vector
            warm_up((const void *)swiglu_halves, &call);
        }
        call_kernel((const void *)swiglu_halves, &call, columns == 0);
        for (unsigned row = 0; row < rows; row++)
            memcpy(expected + row * out_stride, gate + row * stride, width * sizeof(float));
        call =
            (struct call){.x = {POINTER(expected), out_stride, POINTER(up), stride, ARG(rows), ARG(width)}};
        call_reference((const void *)reference_swiglu, &call, columns == 0, count);
        expect_floats("out", got, expected, rows * out_stride); // what lies between the rows must stay 0
    }
}

static void check_add_halves(const struct check *check) {
    (void)check;
    for (unsigned columns = 16; columns <= 64; columns *= 2) {
        const unsigned rows = 16;
        const size_t stride = columns + 16;
        float *x = random_floats(rows * stride), *y = random_floats(rows * columns);
        float *expected = guarded(rows * stride * sizeof(float));
        uint16_t *halves = guarded(rows * columns * sizeof(uint16_t));
        narrow(y, rows, columns, halves, 0);
        memcpy(expected, x, rows * stride * sizeof(float));
        struct call call = {.x = {POINTER(x), stride, POINTER(halves), columns, ARG(rows), ARG(columns)}};
        const bool timed = columns == 64;
        if (timed) {
            add_bound(rows * columns * 4 / 8); // FCVTL takes V0 twice, FADD and a store once
            warm_up((const void *)add_halves, &call);
            memcpy(x, expected, rows * stride * sizeof(float));
        }
        call_kernel((const void *)add_halves, &call, timed);
        call = (struct call){.x = {POINTER(expected), stride, POINTER(y), columns, ARG(rows), ARG(columns),
                                   POINTER(expected)}};
        call_reference((const void *)reference_add, &call, timed, rows * columns);
        expect_floats("x", x, expected, rows * stride);
    }
}

static void check_add(const struct check *check) {
    (void)check;
    for (unsigned columns = 16; columns <= 64; columns *= 2) {
        const unsigned rows = 16;
        const size_t stride = columns + 16, count = rows * stride;
        float *a = random_floats(count), *b = random_floats(rows * columns);
        float *got = guarded(count * sizeof(float)), *expected = guarded(count * sizeof(float));
        struct call call = {
            .x = {POINTER(a), stride, POINTER(b), columns, ARG(rows), ARG(columns), POINTER(got)}};
        const bool timed = columns == 64;
        if (timed) {
            add_bound(rows * columns * 3 / 8); // three V slots per vector
            warm_up((const void *)add_rows, &call);
        }
        call_kernel((const void *)add_rows, &call, timed);
        call.x[6] = POINTER(expected);
        call_reference((const void *)reference_add, &call, timed, rows * columns);
        expect_floats("out", got, expected, count); // what lies between the rows must stay 0
    }
}

static void check_rope_row(const struct check *check) {
    (void)check;
    static const uint32_t positions[] = {0, 1, 31, 2047, 32767, 1000003, UINT32_MAX};
    for (unsigned i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        unsigned pairs = i % 2 ? 32 : 8;
        uint32_t *step = guarded(pairs * sizeof(uint32_t));
        for (unsigned j = 0; j < pairs; j++) // eighths of a turn are where quadrants change
            step[j] = j < 8 ? j << 29 : (uint32_t)random_bits();
        float *got = guarded(2 * pairs * sizeof(float)), *expected = guarded(2 * pairs * sizeof(float));
        struct call call = {.x = {POINTER(step), ARG(pairs), ARG(positions[i]), POINTER(got)}};
        call_kernel((const void *)rope_row, &call, true);
        call.x[3] = POINTER(expected);
        call_reference((const void *)reference_rope_row, &call, true, pairs);
        expect_floats("row", got, expected, 2 * pairs);
    }
}

static void reference_rotate_heads(const struct head_input *heads, unsigned count, unsigned head_dim,
                                   int8_t q[][2 * ROPE_PAIRS_MAX], float *scales) {
    for (unsigned h = 0; h < count; h++)
        scales[h] = reference_rotate_and_quantize(heads[h].x, heads[h].rope, head_dim, q[h]);
}

// Every other head is rotated; some are zero, or not finite.
static void check_rotate(const struct check *check) {
    (void)check;
    static const unsigned sizes[] = {16, 32, 64, 80, 96, 128, 256};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned d = sizes[i], count = 1 + (i + 4) % HEADS_AT_ONCE;
        struct head_input heads[HEADS_AT_ONCE];
        for (unsigned h = 0; h < count; h++) {
            float *x = random_floats(d), *row = guarded(d * sizeof(float));
            for (unsigned j = 0; j < d; j++)
                row[j] = random_float(1.0f);
            if (i == 1)
                x[3] = h % 2 ? __builtin_inff() : __builtin_nanf("");
            if (i == 2 && h < 2)
                memset(x, 0, d * sizeof(float));
            heads[h] = (struct head_input){x, h % 2 ? row : NULL};
        }
        size_t bytes = count * sizeof(int8_t[2 * ROPE_PAIRS_MAX]);
        int8_t *got = guarded(bytes), *expected = guarded(bytes);
        float *scales = guarded(HEADS_AT_ONCE * sizeof(float));
        float *expected_scales = guarded(HEADS_AT_ONCE * sizeof(float));
        struct call call = {.x = {POINTER(heads), ARG(count), ARG(d), POINTER(got), POINTER(scales)}};
        call_kernel((const void *)rotate_and_quantize, &call, true);
        call.x[3] = POINTER(expected);
        call.x[4] = POINTER(expected_scales);
        call_reference((const void *)reference_rotate_heads, &call, true, (uint64_t)count * d);
        expect_bytes("q", got, expected, bytes);
        expect_floats("scale", scales, expected_scales, count);
    }
}

static void log_sum_exp_into(const float *x, size_t count, float *out) {
    *out = log_sum_exp(x, count);
}

static void reference_log_sum_exp_into(const float *x, size_t count, float *out) {
    *out = reference_log_sum_exp(x, count);
}

static void check_log_sum_exp(const struct check *check) {
    (void)check;
    for (size_t count = 1; count < 2000; count = count * 3 + 1) {
        float *x = random_floats(count), *out = guarded(2 * sizeof(float));
        for (size_t i = 0; i < count; i++)
            x[i] *= 10.0f;
        if (count == 13)
            x[5] = __builtin_nanf("");
        if (count == 40)
            x[7] = -__builtin_inff();
        struct call call = {.x = {POINTER(x), count, POINTER(out)}};
        call_kernel((const void *)log_sum_exp_into, &call, true);
        call.x[2] = POINTER(out + 1);
        call_reference((const void *)reference_log_sum_exp_into, &call, true, count);
        expect_floats("sum", out, out + 1, 1);
    }
}

static void logits_above_into(const float *x, int32_t key, uint8_t *out) {
    *out = logits_above(x, key);
}

static void reference_logits_above_into(const float *x, int32_t key, uint8_t *out) {
    *out = reference_logits_above(x, key);
}

static void check_logits_above(const struct check *check) {
    (void)check;
    for (unsigned i = 0; i < 2 * LOGITS_RUN; i++) {
        float *x = random_floats(LOGITS_RUN);
        x[random_below(LOGITS_RUN)] = i % 4 == 0 ? __builtin_nanf("") : i % 4 == 1 ? -0.0f : 0.0f;
        int32_t key = ordered_float(x[i % LOGITS_RUN]);
        uint8_t *out = guarded(2);
        struct call call = {.x = {POINTER(x), ARG(key), POINTER(out)}};
        call_kernel((const void *)logits_above_into, &call, true);
        call.x[2] = POINTER(out + 1);
        call_reference((const void *)reference_logits_above_into, &call, true, LOGITS_RUN);
        expect_bytes("above", out, out + 1, 1);
    }
}

// The exponentials are inlined into the kernels: loops over them stand in.
static void exp2_negative_rows(const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i += 4)
        vst1q_f32(out + i, exp2_negative_f32x4(vld1q_f32(x + i)));
}

static void reference_exp2_negative_rows(const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = exp2_negative(x[i]);
}

static void exp2_steps_rows(const uint32_t *steps, size_t count, float *out) {
    for (size_t i = 0; i < count; i += 4)
        vst1q_f32(out + i, exp2_steps_u32x4(vld1q_u32(steps + i)));
}

static void reference_exp2_steps_rows(const uint32_t *steps, size_t count, float *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = exp2_steps(steps[i]);
}

static void check_exp2(const struct check *check) {
    static const float special[] = {0.0f, 0.5f, 126.0f, 127.0f, 3e38f, __builtin_inff(), -1.0f, -0.0f};
    const size_t count = 4096, specials = sizeof special / sizeof special[0];
    union {
        float x;
        uint32_t steps;
    } *in = guarded(count * sizeof *in);
    float *got = guarded(count * sizeof(float)), *expected = guarded(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        if (check->variant)
            in[i].steps = i < 2 ? (uint32_t)i * EXP2_ZERO_STEPS : random_below(EXP2_ZERO_STEPS);
        else
            in[i].x = i < specials ? special[i] : magnitude(random_float(130.0f));
    }
    struct call call = {.x = {POINTER(in), count, POINTER(got)}};
    call_kernel(check->variant ? (const void *)exp2_steps_rows : (const void *)exp2_negative_rows, &call,
                true);
    call.x[2] = POINTER(expected);
    call_reference(check->variant ? (const void *)reference_exp2_steps_rows
                                  : (const void *)reference_exp2_negative_rows,
                   &call, true, count);
    expect_floats("power", got, expected, count);
}

const struct check checks_float[] = {
    {"exp2_negative", check_exp2, 0},          {"exp2_steps", check_exp2, 1},
    {"rms_norm_rows", check_rms_norm, 0},      {"swiglu_rows", check_swiglu, 0},
    {"swiglu_halves", check_swiglu_halves, 0}, {"add_rows", check_add, 0},
    {"add_halves", check_add_halves, 0},       {"rope_row", check_rope_row, 0},
    {"rotate_and_quantize", check_rotate, 0},  {"log_sum_exp", check_log_sum_exp, 0},
    {"logits_above", check_logits_above, 0},   {NULL, NULL, 0},
};
