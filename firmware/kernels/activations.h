// SPDX-License-Identifier: Apache-2.0
// Activations as the matrix kernels read them: int8 with an integer scale per group of 32 and one float per
// row.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schema/image.h"

#define ACTIVATION_MAX  127
#define GROUP_SCALE_MAX 65535
#define PACK_K          64 // K is padded to this everywhere: two groups, the shortest pack
// A row whose largest magnitude is below this counts as zero: its scale would be subnormal. No trained model
// has one.
#define ACTIVATION_TINY 0x1p-100f

/// What multiplies a group's integer dot product, and the sum of its values for formats with a minimum.
/// Interleaved so that one LD2R broadcasts both.
struct group_scale {
    int32_t scale; // 1..65535, in units of the row's scale
    int32_t sum;   // of the group's 32 values
};

/// `rows` quantized rows of `k` values (a multiple of PACK_K):
/// x[row][i] ~= row_scales[row] * groups[row * k / 32 + i / 32].scale * values[row * k + i]
struct activations {
    int8_t *values;             // [rows][k], in -127..127
    struct group_scale *groups; // [rows][k / 32]
    int32_t
        *low_sums; // [rows][k / 32]: sums of the first 16 values of a group, for formats with scales per 16
    float *row_scales; // [rows]
    unsigned k;
};

/// K padded to whole packs.
static inline unsigned padded_k(unsigned k) {
    return (k + PACK_K - 1) / PACK_K * PACK_K;
}

/// The same activations from row `row` on.
static inline struct activations activations_from(const struct activations *a, unsigned row) {
    size_t groups = a->k / GROUP;
    return (struct activations){a->values + (size_t)row * a->k, a->groups + row * groups,
                                a->low_sums + row * groups, a->row_scales + row, a->k};
}

/// Quantizes x[rows][k], rows `stride` floats apart, into `out` (whose k is padded_k(k)); k is a multiple
/// of 32.
///   row scale   s = max|x| / (127 * 65535)
///   group scale a = clamp(ceil(max|x in group| / (127 * s)), 1, 65535)
///   values      clamp(round_half_even(x * (1 / (s * a))), -127, 127)
/// One scale per row and small integers per group let a whole dot product be summed in int64, exactly and in
/// any order. A row with an infinity or a NaN gets a NaN scale and zero values, so that the damage shows in
/// every output.
void quantize_rows(const float *x, size_t stride, unsigned rows, unsigned k, const struct activations *out);
