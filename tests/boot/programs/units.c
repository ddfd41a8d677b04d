// SPDX-License-Identifier: Apache-2.0
// Takes the place of engine/main.c: runs the routines that have no hardware behind them on what the test has
// put into the weight pool, leaves the results in the activation pool, and panics at the first thing that is
// wrong.
//
// Both pools: u32 count, 12 bytes of padding, then for each item u32 bytes, 12 bytes of padding, the bytes,
// and zeros up to a multiple of 16 and 16 more.
#include <stdbool.h>
#include <stdint.h>

#include "arch/cpu.h"
#include "arch/exception.h"
#include "arch/format.h"
#include "arch/string.h"
#include "hal/board.h"
#include "link/channel.h"
#include "link/cobs.h"
#include "memory/pools.h"

int main(void);

#define SIZE_MAX_TESTED 200
#define GUARD           32

static uint8_t source[SIZE_MAX_TESTED + 64], target[SIZE_MAX_TESTED + 2 * GUARD + 64],
    expected[sizeof target];

static void fill(uint8_t *out, size_t bytes, unsigned seed) {
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)((i * 37 + seed * 11) ^ i >> 3);
}

static bool equal(const uint8_t *a, const uint8_t *b, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/// Every size at every alignment, with the bytes around the target watched.
static void copies_and_fills(void) {
    for (size_t bytes = 0; bytes <= SIZE_MAX_TESTED; bytes++)
        for (unsigned align = 0; align < 16; align++) {
            uint8_t *to = target + GUARD + align, *expected_to = expected + GUARD + align;
            const uint8_t *from = source + (align * 7 & 15);
            fill(source, sizeof source, (unsigned)bytes);
            fill(target, sizeof target, align + 5);
            fill(expected, sizeof expected, align + 5);
            for (size_t i = 0; i < bytes; i++)
                expected_to[i] = from[i];
            if (memcpy(to, from, bytes) != to || !equal(target, expected, sizeof target))
                panic("memcpy of %zu bytes at alignment %u", bytes, align);
            for (size_t i = 0; i < bytes; i++)
                expected_to[i] = 0xa5;
            if (memset(to, 0x1a5, bytes) != to || !equal(target, expected, sizeof target))
                panic("memset of %zu bytes at alignment %u", bytes, align);
        }
}

static void moves(void) {
    for (size_t bytes = 0; bytes <= SIZE_MAX_TESTED; bytes++)
        for (int shift = -GUARD; shift <= GUARD; shift++) {
            uint8_t *from = target + GUARD + 16, *to = from + shift;
            fill(target, sizeof target, (unsigned)bytes);
            fill(expected, sizeof expected, (unsigned)bytes);
            for (size_t i = 0; i < bytes; i++)
                expected[to - target + (ptrdiff_t)i] = from[i];
            if (memmove(to, from, bytes) != to || !equal(target, expected, sizeof target))
                panic("memmove of %zu bytes by %d", bytes, shift);
        }
}

static int sign(int value) {
    return (value > 0) - (value < 0);
}

static void comparisons(void) {
    for (size_t bytes = 0; bytes <= 40; bytes++)
        for (size_t at = 0; at < bytes; at++)
            for (unsigned align = 0; align < 8; align++) {
                uint8_t *a = source + align, *b = target;
                fill(a, bytes, 1);
                fill(b, bytes, 1);
                if (memcmp(a, b, bytes) != 0)
                    panic("memcmp of %zu equal bytes", bytes);
                b[at] ^= 0x80;
                if (at + 1 < bytes)
                    b[bytes - 1] ^= 0x55; // must not matter
                if (sign(memcmp(a, b, bytes)) != (a[at] < b[at] ? -1 : 1))
                    panic("memcmp of %zu bytes that differ at %zu", bytes, at);
            }
}

static void format_is(const char *text, const char *wanted) {
    for (size_t i = 0; text[i] || wanted[i]; i++)
        if (text[i] != wanted[i])
            panic("formatted [%s], wanted [%s]", text, wanted);
}

static void formats(void) {
    char text[40], small[5];
    format_text(text, sizeof text, "%d %i %u %x %X", -5, 0, 4000000000u, 0xbeefu, 0xbeefu);
    format_is(text, "-5 0 4000000000 beef BEEF");
    format_text(text, sizeof text, "%ld %lu %zx", INT64_MIN, UINT64_MAX, (size_t)1 << 40);
    format_is(text, "-9223372036854775808 184467440737095516"); // cut off
    format_text(text, sizeof text, "[%4d|%-4d|%04d|%-4s|%4s]", -7, -7, -7, "ab", "ab");
    format_is(text, "[  -7|-7  |-007|ab  |  ab]");
    format_text(text, sizeof text, "%c%%%s %p", 'x', "y", (void *)16);
    format_is(text, "x%y 0x10");
    if (format_text(small, sizeof small, "%s", "abcdefgh") != 4)
        panic("the length of a cut-off text");
    format_is(small, "abcd");
}

static uint8_t *next(uint8_t *item, uint32_t bytes) {
    return item + 16 + (bytes + 15) / 16 * 16 + 16;
}

/// COBS of every item into the activation pool, decoded again on the way.
static void stuffing(void) {
    static uint8_t again[8192];
    uint8_t *in = weight_pool.base + 16, *out = activation_pool.base + 16;
    uint32_t count = *(const uint32_t *)weight_pool.base;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = *(const uint32_t *)in;
        uint32_t encoded = (uint32_t)cobs_encode(out + 16, in + 16, bytes);
        memcpy(again, out + 16, encoded);
        if (cobs_decode(again, encoded) != bytes || memcmp(again, in + 16, bytes) != 0)
            panic("COBS of item %u, %u bytes, does not decode to the same", i, bytes);
        *(uint32_t *)out = encoded;
        in = next(in, bytes);
        out = next(out, encoded);
    }
    *(uint32_t *)activation_pool.base = count;
}

int main(void) {
    board_init();
    pools_init();
    channel_init();
    copies_and_fills();
    moves();
    comparisons();
    formats();
    stuffing();
    barrier_full();
    log_text(LOG_LEVEL_INFO, "all good");
    park();
}
