// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// log(sum over i of e^x[i]): top + ln(sum of 2^-((top - x[i]) log2 e)), the sum in four lanes, i mod 4,
/// combined as (0 + 1) + (2 + 3). NaN when x[] holds one. count > 0.
float log_sum_exp(const float *x, size_t count);
