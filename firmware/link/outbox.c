// SPDX-License-Identifier: Apache-2.0
#include "link/outbox.h"

bool outbox_put(struct outbox *outbox, enum message_type type, const void *list, unsigned records,
                size_t record_bytes) {
    if (outbox->count == OUTBOX_FRAMES) {
        frame_skip();
        return false;
    }
    unsigned at = outbox->count++;
    outbox->frames[at].records = (uint16_t)records;
    outbox->frames[at].bytes =
        (uint16_t)frame_encode(outbox->frames[at].frame, type, list, records * record_bytes, NULL, 0);
    return true;
}

unsigned outbox_send(struct outbox *outbox, uint32_t *frames) {
    unsigned lost = 0;
    for (unsigned at = 0; at < outbox->count; at++) {
        if (frame_offer_encoded(outbox->frames[at].frame, outbox->frames[at].bytes))
            continue;
        lost += outbox->frames[at].records;
        ++*frames;
    }
    outbox->count = 0;
    return lost;
}
