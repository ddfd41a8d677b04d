// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

#include "kernels/dequant.h"

/// One token's embedding: column `token` of the packed [vocabulary][k] matrix, x[i] = D * (float)(scale * q +
/// minimum). `scratch` has buffers for a panel of padded_k(k); x[k].
void embed_row(enum tensor_format format, const uint8_t *matrix, unsigned k, uint32_t token,
               struct panel *scratch, float *x);
