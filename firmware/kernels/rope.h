// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, half-split pairing: element i of a head pairs with element i + head_dim / 2.
#pragma once

#include <stdint.h>

/// Cosines and sines of one position: row[0..pairs) and row[pairs..2 * pairs), int16 with 14 fraction bits.
/// step[i] is the angle per position of pair i in units of 2^-32 turns, so the phase position * step mod 2^32
/// is exact at any position. pairs is a multiple of 8.
void rope_row(const uint32_t *step, unsigned pairs, uint32_t position, int16_t *row);

/// Rotates one head by `row`, or leaves it as it is when row is NULL, and quantizes it: q[i] =
/// round_half_even(x[i] / scale) with the returned scale = max|x| / 127. A head below ACTIVATION_TINY has
/// scale 0 and zeros, one with an infinity or a NaN has a NaN scale and zeros. head_dim is a multiple of 16,
/// up to 2 * ROPE_PAIRS_MAX.
float rotate_and_quantize(const float *x, const int16_t *row, unsigned head_dim, int8_t *q);
