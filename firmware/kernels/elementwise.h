// SPDX-License-Identifier: Apache-2.0
// Float kernels over rows of activations. Separate multiplies and adds in a fixed order: the references and a
// float32 twin in Python give the same bits. Counts are multiples of 4.
#pragma once

#include <stddef.h>

/// out[r][i] = x[r][i] * (1 / sqrt(mean(x[r]^2) + epsilon)) * weight[i] for `rows` rows of `k`, `stride`
/// floats apart. The squares are summed in four lanes, i mod 4, combined as (0 + 1) + (2 + 3).
void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out);

/// gate[r][i] = gate[r][i] / (1 + 2^-(gate[r][i] log2 e)) * up[r][i] for `rows` rows of `columns`, a multiple
/// of 16; the power as exp2_clamped() has it. Strides in floats.
void swiglu_rows(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                 unsigned columns);

/// out[r][i] = a[r][i] + b[r][i]; `out` has the stride of `a`, columns are a multiple of 16.
void add_rows(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows, unsigned columns,
              float *out);
