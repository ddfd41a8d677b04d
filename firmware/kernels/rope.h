// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, half-split pairing: element i of a head pairs with element i + head_dim / 2.
#pragma once

#include <stdint.h>

#include "schema/image.h"

#define HEADS_AT_ONCE 8

/// Cosines and sines of one position: row[0..pairs) and row[pairs..2 * pairs). step[i] is the angle per
/// position of pair i in units of 2^-32 turns, so the phase position * step mod 2^32 is exact at any
/// position. pairs is a multiple of 8.
void rope_row(const uint32_t *step, unsigned pairs, uint32_t position, float *row);

/// One head of one token.
struct head_input {
    const float *x;
    const float *rope; // rope_row of its position; NULL leaves it as it is
};

/// Rotates up to HEADS_AT_ONCE heads into y, those without rope excepted, and finds what they are to be
/// multiplied with so that the largest magnitude becomes `most`: factors[h] = most / max|x|, and scales[h] =
/// max|x| * (1 / most). A head below ACTIVATION_TINY has scale and factor 0, one with an infinity or a NaN
/// has a NaN scale and factor 0. What is written of scales[] and factors[] is rounded up to four.
void rotate_and_measure(const struct head_input *heads, unsigned count, unsigned head_dim, float most,
                        float y[][2 * ROPE_PAIRS_MAX], float *scales, float *factors);

/// Rotates up to HEADS_AT_ONCE heads and quantizes them: q[h][i] = round_half_even(x[i] * (127 / max|x|))
/// with scales[h] = max|x| * (1 / 127). A head below ACTIVATION_TINY has scale 0 and zeros, one with an
/// infinity or a NaN has a NaN scale and zeros. head_dim is a multiple of 16, up to 2 * ROPE_PAIRS_MAX. What
/// is read and written of scales[] is rounded up to four.
void rotate_and_quantize(const struct head_input *heads, unsigned count, unsigned head_dim,
                         int8_t q[][2 * ROPE_PAIRS_MAX], float *scales);
