// SPDX-License-Identifier: Apache-2.0
#include "link/crc32.h"

#include <arm_acle.h>

#include "arch/string.h"

uint32_t crc32(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *at = data;
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        crc = __crc32d(crc, word);
    }
    for (; bytes; bytes--)
        crc = __crc32b(crc, *at++);
    return ~crc;
}
