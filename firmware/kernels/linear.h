// SPDX-License-Identifier: Apache-2.0
// Matrix times quantized activations. For every row m and column n, with q the weights and x the activations
// of a group g of 32 along K:
//
//   sum[m][n] = sum over g of x_scale[m][g] * (w_scale[n][g] * dot(q, x) + minimum[n][g] * sum(x))     int64,
//   exact y[m][n]   = (float)(double)sum * (D[n] * row_scale[m])
//
// The integer sum does not depend on its order, so the two routes below, any batch and the scalar reference
// agree to the bit: which route runs is a matter of speed alone.
#pragma once

#include <stddef.h>

#include "kernels/activations.h"
#include "kernels/dequant.h"

/// One row times `panels` packed panels (at least 1), one after the other in memory: reads the packs once, so
/// decode and the head use it. a: the row's activations (a->k = K padded; for the K formats a multiple of
/// 256). y[16 * panels].
void gemv_panels(enum tensor_format format, const uint8_t *packs, unsigned panels,
                 const struct activations *a, float *y);

/// `rows` rows times one dequantized panel, in tiles of 8 rows by 4 columns. y: `rows` rows of 16, `stride`
/// floats apart.
void gemm_panel(const struct panel *panel, const struct activations *a, unsigned rows, float *y,
                size_t stride);
