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
static int32_t round_half_even(float x) {
    int32_t below = (int32_t)x - (x < 0.0f && x != (float)(int32_t)x);
    float rest = x - (float)below;
    if (rest > 0.5f || (rest == 0.5f && below % 2 != 0))
        return below + 1;
    return below;
}

static int8_t quantize(float x) {
    int32_t q = round_half_even(x);
    return (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
}

// The scale of a group or block in units of the row's.
static int32_t scale_steps(float top, float row_scale) {
    float exact = top / (127.0f * row_scale);
    int32_t steps = (int32_t)exact;
    steps += (float)steps < exact;
    return steps < 1 ? 1 : steps > 65535 ? 65535 : steps;
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
        const float top = largest(x, k), scale = row_scale_of(top);
        int32_t before = 0;
        out->row_scales[row] = scale;
        for (unsigned block = 0; block < blocks; block++) {
            unsigned start = block * out->block,
                     end = start + out->block < out->k ? start + out->block : out->k;
            int32_t steps = is_usable(top) ? scale_steps(largest(x + start, end - start), scale) : 1;
            for (unsigned i = start; i < end; i++)
                out->values[tile_value(out, row, i)] =
                    is_usable(top) ? quantize(x[i] * (1.0f / (scale * (float)steps))) : 0;
            if (block > 0)
                out->steps[tile_step(out, row, block - 1)] = before - steps;
            before = steps;
        }
        out->steps[tile_step(out, row, blocks - 1)] = before;
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
        float lane[4] = {0};
        for (unsigned i = 0; i < k; i++)
            lane[i % 4] += x[row * stride + i] * x[row * stride + i];
        float mean = ((lane[0] + lane[1]) + (lane[2] + lane[3])) / (float)k;
        float factor = 1.0f / reference_square_root(mean + epsilon);
        for (unsigned i = 0; i < k; i++)
            out[row * stride + i] = x[row * stride + i] * factor * weight[i];
    }
}

void reference_swiglu(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                      unsigned columns) {
    for (unsigned row = 0; row < rows; row++)
        for (unsigned i = 0; i < columns; i++) {
            float *to = gate + row * gate_stride + i;
            *to = *to / (1.0f + exp2_clamped(*to * LOG2_E)) * up[row * up_stride + i];
        }
}

void reference_add(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows,
                   unsigned columns, float *out) {
    for (unsigned row = 0; row < rows; row++)
        for (unsigned i = 0; i < columns; i++)
            out[row * stride + i] = a[row * stride + i] + b[row * b_stride + i];
}

void reference_rope_row(const uint32_t *step, unsigned pairs, uint32_t position, int16_t *row) {
    for (unsigned i = 0; i < pairs; i++) {
        uint32_t phase = position * step[i];
        unsigned quadrant = (phase + 0x20000000u) >> 30;
        float x = (float)(int32_t)(phase - (quadrant << 30)) * RADIANS_PER_UNIT, x2 = x * x;
        float sine = ((SINE_C7 * x2 + SINE_C5) * x2 + SINE_C3) * x2 * x + x;
        float cosine = (((COSINE_C8 * x2 + COSINE_C6) * x2 + COSINE_C4) * x2 - 0.5f) * x2 + 1.0f;
        int32_t s = round_half_even(sine * ROPE_ONE), c = round_half_even(cosine * ROPE_ONE);
        static const int8_t turns[4][4] = {{1, 0, 0, 1}, {0, -1, 1, 0}, {-1, 0, 0, -1}, {0, 1, -1, 0}};
        row[i] = (int16_t)(turns[quadrant][0] * c + turns[quadrant][1] * s);
        row[pairs + i] = (int16_t)(turns[quadrant][2] * c + turns[quadrant][3] * s);
    }
}

float reference_rotate_and_quantize(const float *x, const int16_t *row, unsigned head_dim, int8_t *q) {
    float y[2 * ROPE_PAIRS_MAX] = {0};
    unsigned pairs = head_dim / 2;
    for (unsigned i = 0; i < head_dim; i++) {
        y[i] = x[i];
        if (row) {
            float c = (float)row[i % pairs] / ROPE_ONE, s = (float)row[pairs + i % pairs] / ROPE_ONE;
            y[i] = i < pairs ? x[i] * c - x[i + pairs] * s : x[i] * c + x[i - pairs] * s;
        }
    }
    float top = largest(y, head_dim);
    int usable = is_finite(top) && top >= ACTIVATION_TINY;
    float scale = usable ? top / 127.0f : is_finite(top) ? 0.0f : __builtin_nanf("");
    for (unsigned i = 0; i < head_dim; i++)
        q[i] = usable ? quantize(y[i] * (1.0f / scale)) : 0;
    return scale;
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
