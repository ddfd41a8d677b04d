// SPDX-License-Identifier: Apache-2.0
// Quantization and the float kernels, one number at a time.
#include "kernels/log.h"
#include "kernels/logits.h"
#include "kernels/pack.h"
#include "kernels/reference/reference.h"
#include "kernels/rope_constants.h"

// The longest row that the reference quantizes into tiles.
#define QUANTIZED_MAX 16384

// NaN counts as infinite, unlike in a comparison.
static int is_finite(float x) {
    return (float_bits(x) & INFINITY_BITS) != INFINITY_BITS;
}

// Largest magnitude; infinity as soon as one value is not finite.
static float largest(const float *x, unsigned count) {
    float top = 0.0f;
    for (unsigned i = 0; i < count; i++) {
        float size = magnitude(x[i]);
        if (!is_finite(size))
            return __builtin_inff();
        top = size > top ? size : top;
    }
    return top;
}

// Half to even, without the rounding trick of the fast kernels.
static int32_t round_half_even(double x) {
    int32_t below = (int32_t)x - (x < 0.0 && x != (double)(int32_t)x);
    double rest = x - (double)below;
    if (rest > 0.5 || (rest == 0.5 && below % 2 != 0))
        return below + 1;
    return below;
}

static int8_t quantize(double x) {
    int32_t q = round_half_even(x);
    return (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
}

// The scale of a group in units of the row's.
static int32_t scale_steps(float top, float row_scale) {
    float exact = top / (127.0f * row_scale);
    int32_t steps = (int32_t)exact;
    steps += (float)steps < exact;
    return steps < 1 ? 1 : steps > 65535 ? 65535 : steps;
}

// A block's share of its row, in 31 bits.
static int32_t block_scale(float share) {
    return share < 1.0f ? (int32_t)(share * 0x1p31f) : INT32_MAX;
}

static int is_usable(float top) {
    return is_finite(top) && top >= ACTIVATION_TINY;
}

static float row_scale_of(float top) {
    return is_usable(top) ? top / (127.0f * 65535.0f) : is_finite(top) ? 0.0f : __builtin_nanf("");
}

void reference_quantize_rows(const float *x, size_t stride, unsigned rows, unsigned k,
                             const struct activations *out) {
    for (unsigned row = 0; row < rows; row++, x += stride) {
        struct activations to = activations_from(out, row);
        float top = largest(x, k), scale = row_scale_of(top);
        int usable = is_usable(top);
        to.row_scales[0] = scale;
        for (unsigned group = 0; group < to.k / GROUP; group++) {
            unsigned from = group * GROUP;
            int32_t steps = 1;
            if (usable && from < k)
                steps = scale_steps(largest(x + from, GROUP), scale);
            to.groups[group] = (struct group_scale){.scale = steps, .sum = 0};
            to.low_sums[group] = 0;
            for (unsigned i = 0; i < GROUP; i++) {
                int8_t q = usable && from < k ? quantize(x[from + i] * (1.0f / (scale * (float)steps))) : 0;
                to.values[from + i] = q;
                to.groups[group].sum += q;
                to.low_sums[group] += i < 16 ? q : 0;
            }
        }
    }
}

void reference_quantize_tiles(const struct float_rows *from, unsigned rows, unsigned k,
                              const float *smoothing, const struct int8_activations *out) {
    const unsigned blocks = int8_blocks(out->k, out->block);
    for (unsigned row = 0; row < (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS; row++) {
        static float x[QUANTIZED_MAX];
        for (unsigned i = 0; i < out->k; i++)
            x[i] = i >= k || row >= rows
                       ? 0.0f
                       : from->x[row * from->row + i / 16 * from->panel + i % 16] * smoothing[i];
        const float top = largest(x, k);
        int32_t behind = 0;
        out->row_scales[row] = is_usable(top) ? top / 127.0f : is_finite(top) ? 0.0f : __builtin_nanf("");
        for (unsigned block = blocks; block-- > 0;) {
            unsigned start = block * out->block,
                     end = start + out->block < out->k ? start + out->block : out->k;
            const float here = largest(x + start, end - start);
            const int32_t scale = is_usable(top) ? block_scale(here / top) : 0;
            for (unsigned i = start; i < end; i++)
                out->values[tile_value(out, row, i)] =
                    is_usable(here) ? quantize((double)x[i] * (127.0f / here)) : 0;
            out->steps[tile_step(out, row, block)] = scale - behind;
            behind = scale;
        }
    }
}

void reference_embed_row(enum tensor_format format, const uint8_t *matrix, unsigned k, uint32_t token,
                         float *x) {
    const uint8_t *panel = matrix + token / 16 * panel_bytes(format, k);
    for (unsigned i = 0; i < k; i++) {
        struct stored_weight w = reference_weight(format, panel, token % 16, i);
        x[i] = reference_column_scale(format, panel, token % 16, k) * (float)(w.scale * w.q + w.minimum);
    }
}

// Newton's iteration in double, from half the exponent: rounding its result to float is exact rounding,
// because no square root of a float lies that close to the middle between two floats. x > 0.
float reference_square_root(float x) {
    double guess = float_from_bits((float_bits(x) >> 1) + 0x1fbd1df5u);
    for (int i = 0; i < 6; i++)
        guess = 0.5 * (guess + (double)x / guess);
    return (float)guess;
}

void reference_rms_norm(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                        float epsilon, float *out) {
    for (unsigned row = 0; row < rows; row++) {
        float lane[16] = {0}, sum[4];
        for (unsigned i = 0; i < k; i++)
            lane[i % 16] = __builtin_fmaf(x[row * stride + i], x[row * stride + i], lane[i % 16]);
        for (unsigned i = 0; i < 4; i++)
            sum[i] = (lane[i] + lane[4 + i]) + (lane[8 + i] + lane[12 + i]);
        float mean = ((sum[0] + sum[1]) + (sum[2] + sum[3])) * (1.0f / (float)k);
        float factor = 1.0f / reference_square_root(mean + epsilon);
        for (unsigned i = 0; i < k; i++)
            out[row * stride + i] = x[row * stride + i] * factor * weight[i];
    }
}

// FRECPE of a normal number below 2^126 (Arm Architecture Reference Manual, RecipEstimate()): nine bits of
// the reciprocal of the middle of what the upper eight fraction bits leave open.
static float reciprocal_estimate(float x) {
    uint32_t bits = float_bits(x), exponent = bits >> 23, fraction = bits >> 15 & 0xff;
    uint32_t estimate = ((1u << 19) / ((256 + fraction) * 2 + 1) + 1) / 2; // 256..511
    return float_from_bits((253 - exponent) << 23 | (estimate & 0xff) << 15);
}

static float e_to_minus(float x) {
    float shifted = __builtin_fmaf(-x, LOG2_E, ROUND_MAGIC);
    float f = __builtin_fmaf(x, LOG2_E, shifted - ROUND_MAGIC);
    float p = __builtin_fmaf(EXP2_C4, f, -EXP2_C3);
    p = __builtin_fmaf(p, f, EXP2_C2);
    p = __builtin_fmaf(p, f, -EXP2_C1);
    p = __builtin_fmaf(p, f, 1.0f);
    return float_from_bits(float_bits(p) + (float_bits(shifted) << 23));
}

static float swiglu(float gate, float up) {
    float g = gate < -86.0f ? -86.0f : gate;
    float d = 1.0f + e_to_minus(g > 86.0f ? 86.0f : g), r = reciprocal_estimate(d);
    r *= __builtin_fmaf(-d, r, 2.0f);
    r *= __builtin_fmaf(-d, r, 2.0f);
    return g * up * r;
}

void reference_swiglu(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                      unsigned columns) {
    for (unsigned row = 0; row < rows; row++)
        for (unsigned i = 0; i < columns; i++)
            gate[row * gate_stride + i] = swiglu(gate[row * gate_stride + i], up[row * up_stride + i]);
}

void reference_add(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows,
                   unsigned columns, float *out) {
    for (unsigned row = 0; row < rows; row++)
        for (unsigned i = 0; i < columns; i++)
            out[row * stride + i] = a[row * stride + i] + b[row * b_stride + i];
}

void reference_rope_row(const uint32_t *step, unsigned pairs, uint32_t position, float *row) {
    for (unsigned i = 0; i < pairs; i++) {
        uint32_t phase = position * step[i];
        unsigned quadrant = (phase + 0x20000000u) >> 30;
        float x = (float)(int32_t)(phase - (quadrant << 30)) * RADIANS_PER_UNIT, x2 = x * x;
        float s = ((SINE_C7 * x2 + SINE_C5) * x2 + SINE_C3) * x2 * x + x;
        float c = (((COSINE_C8 * x2 + COSINE_C6) * x2 + COSINE_C4) * x2 - 0.5f) * x2 + 1.0f;
        const float turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
        row[i] = turned[quadrant][0];
        row[pairs + i] = turned[quadrant][1];
    }
}

// A product of floats is exact in double: quantize() rounds once, as a fused multiply-add does.
// A head's largest magnitude.
static float rotate(const float *x, const float *row, unsigned head_dim, float *y) {
    unsigned pairs = head_dim / 2;
    for (unsigned i = 0; i < head_dim; i++) {
        y[i] = x[i];
        if (row) {
            float c = row[i % pairs], s = row[pairs + i % pairs];
            y[i] = i < pairs ? __builtin_fmaf(-x[i + pairs], s, x[i] * c)
                             : __builtin_fmaf(x[i - pairs], s, x[i] * c);
        }
    }
    return largest(y, head_dim);
}

static float scale_of(float top, float most) {
    return !is_finite(top) ? __builtin_nanf("") : top >= ACTIVATION_TINY ? top * (1.0f / most) : 0.0f;
}

float reference_rotate_and_quantize(const float *x, const float *row, unsigned head_dim, int8_t *q) {
    float y[2 * ROPE_PAIRS_MAX] = {0}, top = rotate(x, row, head_dim, y);
    for (unsigned i = 0; i < head_dim; i++)
        q[i] = scale_of(top, 127.0f) > 0.0f ? quantize((double)y[i] * (double)(127.0f / top)) : 0;
    return scale_of(top, 127.0f);
}

float reference_rotate_and_quantize_16(const float *x, const float *row, unsigned head_dim, int16_t *q) {
    float y[2 * ROPE_PAIRS_MAX] = {0}, top = rotate(x, row, head_dim, y);
    for (unsigned i = 0; i < head_dim; i++) {
        float rounded = __builtin_fmaf(y[i], PROBABILITY_MAX / top, ROUND_MAGIC); // half to even
        q[i] = scale_of(top, 127.0f) > 0.0f ? (int16_t)(float_bits(rounded) - ROUND_MAGIC_BITS) : 0;
    }
    return scale_of(top, PROBABILITY_MAX);
}

float reference_log_sum_exp(const float *x, size_t count) {
    float top = x[0], lane[4] = {0};
    for (size_t i = 0; i < count; i++) {
        if (x[i] != x[i])
            return __builtin_nanf("");
        top = x[i] > top ? x[i] : top;
    }
    for (size_t i = 0; i < count; i++)
        lane[i % 4] += exp2_negative((top - x[i]) * LOG2_E);
    return top + natural_log((lane[0] + lane[1]) + (lane[2] + lane[3]));
}

bool reference_logits_above(const float *x, int32_t key) {
    bool above = false;
    for (unsigned i = 0; i < LOGITS_RUN; i++)
        above |= ordered_float(x[i]) > key;
    return above;
}
