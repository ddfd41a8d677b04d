// SPDX-License-Identifier: Apache-2.0
#include <arm_neon.h>

#include "arch/string.h"
#include "kernels/activations.h"
#include "kernels/neon.h"

// Bits of the largest magnitude of a group.
static uint32_t group_magnitude(const float *x) {
    uint32x4_t top = vdupq_n_u32(0);
    UNROLL
    for (unsigned i = 0; i < GROUP; i += 4)
        top = vmaxq_u32(top, vbicq_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)), vdupq_n_u32(0x80000000u)));
    return vmaxvq_u32(top);
}

static int8x16_t quantize_16(const float *x, float32x4_t factor) {
    return quantize_f32x16(vld1q_f32(x), vld1q_f32(x + 4), vld1q_f32(x + 8), vld1q_f32(x + 12), factor);
}

static void zero_groups(const struct activations *out, unsigned from) {
    for (unsigned g = from; g < out->k / GROUP; g++) {
        memset(out->values + g * GROUP, 0, GROUP);
        out->groups[g] = (struct group_scale){.scale = 1, .sum = 0};
        out->low_sums[g] = 0;
    }
}

static void quantize_group(const float *x, float row_scale, float group_max, unsigned g,
                           const struct activations *out) {
    int32_t scale = (int32_t)__builtin_ceilf(group_max / ((float)ACTIVATION_MAX * row_scale));
    scale = scale < 1 ? 1 : scale > GROUP_SCALE_MAX ? GROUP_SCALE_MAX : scale;
    float32x4_t factor = vdupq_n_f32(1.0f / (row_scale * (float)scale));
    int8x16_t low = quantize_16(x, factor);
    int8x16_t high = quantize_16(x + 16, factor);
    vst1q_s8(out->values + g * GROUP, low);
    vst1q_s8(out->values + g * GROUP + 16, high);
    int32_t low_sum = vaddlvq_s8(low);
    out->groups[g] = (struct group_scale){.scale = scale, .sum = low_sum + vaddlvq_s8(high)};
    out->low_sums[g] = low_sum;
}

static void quantize_row(const float *x, unsigned k, const struct activations *out) {
    unsigned groups = k / GROUP;
    uint32_t top = 0;
    for (unsigned g = 0; g < groups; g++) {
        uint32_t magnitude = group_magnitude(x + g * GROUP);
        out->groups[g].scale = (int32_t)magnitude; // kept here until the row's scale is known
        top = magnitude > top ? magnitude : top;
    }
    if (top < float_bits(ACTIVATION_TINY) || top >= INFINITY_BITS) {
        out->row_scales[0] = top >= INFINITY_BITS ? __builtin_nanf("") : 0.0f;
        zero_groups(out, 0);
        return;
    }
    float row_scale = float_from_bits(top) / (float)(ACTIVATION_MAX * GROUP_SCALE_MAX);
    out->row_scales[0] = row_scale;
    for (unsigned g = 0; g < groups; g++)
        quantize_group(x + g * GROUP, row_scale, float_from_bits((uint32_t)out->groups[g].scale), g, out);
    zero_groups(out, groups);
}

void quantize_rows(const float *x, size_t stride, unsigned rows, unsigned k, const struct activations *out) {
    for (unsigned row = 0; row < rows; row++) {
        struct activations to = activations_from(out, row);
        quantize_row(x + row * stride, k, &to);
    }
}
