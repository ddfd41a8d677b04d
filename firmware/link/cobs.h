// SPDX-License-Identifier: Apache-2.0
// Consistent overhead byte stuffing (Cheshire and Baker, 1999): a code byte says how far the next zero is.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "link/rtt.h"

/// Encodes straight into the ring, in as many pieces as the caller has.
struct cobs_encoder {
    struct rtt_writer *out;
    uint32_t code_at; // where the open block's code byte goes
    uint8_t code;
};

void cobs_begin(struct cobs_encoder *encoder, struct rtt_writer *out);
void cobs_put(struct cobs_encoder *encoder, const void *data, size_t bytes);
void cobs_end(struct cobs_encoder *encoder);

/// Decodes `bytes` of `data`, which hold no zero, in place. Returns the decoded length, or COBS_BAD.
#define COBS_BAD SIZE_MAX
size_t cobs_decode(uint8_t *data, size_t bytes);
