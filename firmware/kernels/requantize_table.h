// SPDX-License-Identifier: Apache-2.0
// Requantization by looking codes up: a variant that is measured (docs/kernels.md) and that the engine does
// not use. What it gives up is smoothing, because a table serves all channels of a group.
//
// For column n and group g, with di, mi and the code q of the weight (docs/weight-image.md), an entry is
//
//   table[g][n][q] = (rdm(mi, c[n]) + 128 + q * rdm(di, c[n])) >> 8, modulo 2^16
//   rdm(a, b)      = (a * b + 2^14) >> 15
//
// and a weight is w = table[g][n][q]. c is chosen such that no weight leaves -127..127: c = 127 * 2^23 /
// max |di * q + mi|, at most 32767. Entries that no code of the group asks for may wrap. Then w * D * 2^23 /
// c ~ the stored weight. Unlike with the product in requantize.h, di keeps its bits and may be below zero.
#pragma once

#include <stdint.h>

/// Requantizes one q4_1 panel of k inputs, a multiple of 64. `weights` as in struct int8_panel, `multipliers`
/// c of the panel's 16 columns.
void requantize_table_q4_1(const uint8_t *packs, int8_t *weights, uint64_t k, const int16_t *multipliers);
