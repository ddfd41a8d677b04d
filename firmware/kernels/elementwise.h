// SPDX-License-Identifier: Apache-2.0
// Float kernels over rows of activations. Separate multiplies and adds in a fixed order: the references and a
// float32 twin in Python give the same bits. Counts are multiples of 4.
#pragma once

#include <stddef.h>

/// out[r][i] = x[r][i] * (1 / sqrt(mean(x[r]^2) + epsilon)) * weight[i] for `rows` rows of `k`, `stride`
/// floats apart. The squares are summed in four lanes, i mod 4, combined as (0 + 1) + (2 + 3).
void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out);

/// gate[i] = gate[i] * sigmoid(gate[i]) * up[i], with sigmoid from t = 2^-(|g| log2 e): (g < 0 ? t : 1) / (1
/// + t).
void swiglu(float *gate, const float *up, size_t count);

/// out[i] = a[i] + b[i].
void add(const float *a, const float *b, size_t count, float *out);
