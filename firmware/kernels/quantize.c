// SPDX-License-Identifier: Apache-2.0
#include <arm_neon.h>

#include "arch/string.h"
#include "kernels/activations.h"
#include "kernels/neon.h"

#define GROUPS 4 // at a time: a vector of their scales

// Per lane, the largest magnitude of a group, as bits.
static uint32x4_t group_magnitudes(const float *x) {
    uint32x4_t top = vdupq_n_u32(0);
    UNROLL
    for (unsigned i = 0; i < GROUP; i += 4)
        top = vmaxq_u32(top, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
    return top;
}

static void zero_groups(const struct activations *out, unsigned from) {
    for (unsigned g = from; g < out->k / GROUP; g++) {
        memset(out->values + g * GROUP, 0, GROUP);
        out->groups[g] = (struct group_scale){.scale = 1, .sum = 0};
        out->low_sums[g] = 0;
    }
}

// Quantizes half a group; returns the sums of neighboring values.
static int16x8_t quantize_16(const float *x, float32x4_t factor, int8_t *to) {
    int8x16_t q =
        quantize_f32x16(vld1q_f32(x), vld1q_f32(x + 4), vld1q_f32(x + 8), vld1q_f32(x + 12), factor);
    vst1q_s8(to, q);
    return vpaddlq_s8(q);
}

// Sums of four vectors, one per lane.
static int32x4_t sums_of(const int16x8_t v[GROUPS]) {
    return vpaddlq_s16(vpaddq_s16(vpaddq_s16(v[0], v[1]), vpaddq_s16(v[2], v[3])));
}

// GROUPS groups from `g` on. Their magnitudes are in out->low_sums.
static void quantize_groups(const float *x, float row_scale, unsigned g, const struct activations *out) {
    const float32x4_t group_max = vreinterpretq_f32_s32(vld1q_s32(out->low_sums + g));
    int32x4_t scale =
        vcvtq_s32_f32(vrndpq_f32(vdivq_f32(group_max, vdupq_n_f32((float)ACTIVATION_MAX * row_scale))));
    scale = vminq_s32(vmaxq_s32(scale, vdupq_n_s32(1)), vdupq_n_s32(GROUP_SCALE_MAX));
    const float32x4_t steps = vmulq_f32(vdupq_n_f32(row_scale), vcvtq_f32_s32(scale));
    const float32x4_t factors = vdivq_f32(vdupq_n_f32(1.0f), steps);
    const float32x4_t factor[GROUPS] = {vdupq_laneq_f32(factors, 0), vdupq_laneq_f32(factors, 1),
                                        vdupq_laneq_f32(factors, 2), vdupq_laneq_f32(factors, 3)};
    int16x8_t low[GROUPS], high[GROUPS];
    UNROLL
    for (unsigned i = 0; i < GROUPS; i++) {
        low[i] = quantize_16(x + i * GROUP, factor[i], out->values + (g + i) * GROUP);
        high[i] = quantize_16(x + i * GROUP + 16, factor[i], out->values + (g + i) * GROUP + 16);
    }
    const int32x4_t low_sums = sums_of(low);
    const int32x4x2_t pairs = {{scale, vaddq_s32(low_sums, sums_of(high))}};
    vst1q_s32(out->low_sums + g, low_sums);
    vst2q_s32((int32_t *)(out->groups + g), pairs);
}

// One group: the few that are left at the end of a row. Its magnitude is in out->low_sums.
static void quantize_group(const float *x, float row_scale, unsigned g, const struct activations *out) {
    const float group_max = float_from_bits((uint32_t)out->low_sums[g]);
    int32_t scale = (int32_t)__builtin_ceilf(group_max / ((float)ACTIVATION_MAX * row_scale));
    scale = scale < 1 ? 1 : scale > GROUP_SCALE_MAX ? GROUP_SCALE_MAX : scale;
    const float32x4_t factor = vdupq_n_f32(1.0f / (row_scale * (float)scale));
    const int32_t low_sum = vaddvq_s16(quantize_16(x, factor, out->values + g * GROUP));
    const int32_t sum = low_sum + vaddvq_s16(quantize_16(x + 16, factor, out->values + g * GROUP + 16));
    out->groups[g] = (struct group_scale){.scale = scale, .sum = sum};
    out->low_sums[g] = low_sum;
}

static void quantize_row(const float *x, unsigned k, const struct activations *out) {
    const unsigned groups = k / GROUP;
    uint32x4_t tops = vdupq_n_u32(0);
    unsigned g = 0;
    for (; g + GROUPS <= groups; g += GROUPS) {
        const uint32x4_t first =
            vpmaxq_u32(group_magnitudes(x + g * GROUP), group_magnitudes(x + (g + 1) * GROUP));
        const uint32x4_t second =
            vpmaxq_u32(group_magnitudes(x + (g + 2) * GROUP), group_magnitudes(x + (g + 3) * GROUP));
        const uint32x4_t four = vpmaxq_u32(first, second);
        tops = vmaxq_u32(tops, four);
        vst1q_s32(out->low_sums + g, vreinterpretq_s32_u32(four)); // kept here until the row's scale is known
    }
    uint32_t top = vmaxvq_u32(tops);
    for (; g < groups; g++) {
        const uint32_t magnitude = vmaxvq_u32(group_magnitudes(x + g * GROUP));
        out->low_sums[g] = (int32_t)magnitude;
        top = magnitude > top ? magnitude : top;
    }
    if (top < float_bits(ACTIVATION_TINY) || top >= INFINITY_BITS) {
        out->row_scales[0] = top >= INFINITY_BITS ? __builtin_nanf("") : 0.0f;
        zero_groups(out, 0);
        return;
    }
    const float row_scale = float_from_bits(top) / (float)(ACTIVATION_MAX * GROUP_SCALE_MAX);
    out->row_scales[0] = row_scale;
    for (g = 0; g + GROUPS <= groups; g += GROUPS)
        quantize_groups(x + g * GROUP, row_scale, g, out);
    for (; g < groups; g++)
        quantize_group(x + g * GROUP, row_scale, g, out);
    zero_groups(out, groups);
}

void quantize_rows(const float *x, size_t stride, unsigned rows, unsigned k, const struct activations *out) {
    for (unsigned row = 0; row < rows; row++) {
        struct activations to = activations_from(out, row);
        quantize_row(x + row * stride, k, &to);
    }
}
