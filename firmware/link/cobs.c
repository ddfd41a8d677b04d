// SPDX-License-Identifier: Apache-2.0
#include "link/cobs.h"

/// Writes the open block's code byte and leaves room for that of a new block.
static inline void next_block(struct cobs_encoder *encoder, struct rtt_writer *out) {
    out->buffer[encoder->code_at] = encoder->code;
    encoder->code_at = out->at;
    encoder->code = 1;
    rtt_put(out, 0);
}

void cobs_begin(struct cobs_encoder *encoder, struct rtt_writer *out) {
    *encoder = (struct cobs_encoder){.out = out, .code_at = out->at, .code = 1};
    rtt_put(out, 0);
}

void cobs_put(struct cobs_encoder *encoder, const void *data, size_t bytes) {
    const uint8_t *at = data;
    // Copies: the bytes stored could, for all the compiler knows, change the originals.
    struct cobs_encoder own = *encoder;
    struct rtt_writer out = *encoder->out;
    for (; bytes; bytes--, at++) {
        if (own.code == 0xff) // only when more follows: a frame's last block may be full without a zero behind it
            next_block(&own, &out);
        if (*at == 0) {
            next_block(&own, &out);
        } else {
            rtt_put(&out, *at);
            own.code++;
        }
    }
    *encoder->out = out;
    *encoder = own;
}

void cobs_end(struct cobs_encoder *encoder) { encoder->out->buffer[encoder->code_at] = encoder->code; }

size_t cobs_decode(uint8_t *data, size_t bytes) {
    size_t from = 0, to = 0;
    while (from < bytes) {
        uint8_t code = data[from++];
        if (code == 0 || code - 1u > bytes - from)
            return COBS_BAD;
        for (unsigned i = 1; i < code; i++)
            data[to++] = data[from++];
        if (code != 0xff && from < bytes)
            data[to++] = 0;
    }
    return to;
}
