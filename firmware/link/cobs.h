// SPDX-License-Identifier: Apache-2.0
// Consistent overhead byte stuffing (S. Cheshire, M. Baker, IEEE/ACM ToN 7(2), 1999): every zero is replaced
// by the distance to the next one, and a byte in front says where the first is.
#pragma once

#include <stddef.h>
#include <stdint.h>

// One byte more, and another for every 254.
#define COBS_ENCODED_MAX(bytes) ((bytes) + (bytes) / 254 + 1)
// What cobs_encode may read behind the data and write behind the result.
#define COBS_PADDING 16

/// Encodes `bytes` of `data` and returns the length of the result, which holds no zero.
/// `data` must be followed by COBS_PADDING zeros; `out` needs COBS_ENCODED_MAX(bytes) + COBS_PADDING bytes.
size_t cobs_encode(uint8_t *out, const uint8_t *data, size_t bytes);

/// Decodes `bytes` of `data`, which hold no zero, in place. Returns the decoded length, or COBS_BAD.
#define COBS_BAD SIZE_MAX
size_t cobs_decode(uint8_t *data, size_t bytes);
