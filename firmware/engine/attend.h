// SPDX-License-Identifier: Apache-2.0
// Attention of a batch by all cores, and by the NPU where it has the products with the values.
#pragma once

#include <stdbool.h>

#include "engine/pass.h"
#include "kernels/attention.h"

/// This core's part of `job`, behind a barrier at which the keys and values of the batch were in the ring.
/// True where what it has made of a token's heads is all its own (attention_is_by_tokens); otherwise other
/// cores have other rows of a token, and are done behind one more barrier.
bool attend(const struct pass *p, struct attention job);
