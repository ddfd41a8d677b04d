// SPDX-License-Identifier: Apache-2.0
#include "arch/format.h"

#include <stdbool.h>
#include <stdint.h>

struct output {
    char *text;
    size_t room; // without the terminator
    size_t used;
};

static void put(struct output *out, char c) {
    if (out->used < out->room)
        out->text[out->used++] = c;
}

static void put_padded(struct output *out, const char *text, size_t length, size_t width, bool left) {
    size_t gap = width > length ? width - length : 0;
    for (size_t i = 0; !left && i < gap; i++)
        put(out, ' ');
    for (size_t i = 0; i < length; i++)
        put(out, text[i]);
    for (size_t i = 0; left && i < gap; i++)
        put(out, ' ');
}

struct conversion {
    bool left, zeros;
    size_t width;
    unsigned longs; // number of `l`; `z` counts as two
};

static void put_number(struct output *out, const struct conversion *how, uint64_t value, unsigned base,
                       bool minus, bool upper) {
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[24];
    size_t at = sizeof text;
    do {
        text[--at] = digits[value % base];
        value /= base;
    } while (value);
    if (how->zeros && !how->left) {
        size_t width = how->width < sizeof text ? how->width : sizeof text;
        while (sizeof text - at + minus < width && at > 1)
            text[--at] = '0';
    }
    if (minus)
        text[--at] = '-';
    put_padded(out, text + at, sizeof text - at, how->width, how->left);
}

static const char *parse(const char *format, struct conversion *how) {
    *how = (struct conversion){0};
    for (;; format++) {
        if (*format == '0')
            how->zeros = true;
        else if (*format == '-')
            how->left = true;
        else
            break;
    }
    for (; *format >= '0' && *format <= '9'; format++)
        how->width = how->width * 10 + (size_t)(*format - '0');
    for (; *format == 'l' || *format == 'z'; format++)
        how->longs += *format == 'z' ? 2 : 1;
    return format;
}

size_t format_list(char *text, size_t room, const char *format, va_list list) {
    struct output out = {.text = text, .room = room ? room - 1 : 0};
    while (*format) {
        if (*format != '%') {
            put(&out, *format++);
            continue;
        }
        struct conversion how;
        const char *start = format;
        format = parse(format + 1, &how);
        switch (*format) {
        case 'd':
        case 'i': {
            int64_t value = how.longs ? va_arg(list, int64_t) : va_arg(list, int);
            put_number(&out, &how, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, value < 0, false);
            break;
        }
        case 'u':
        case 'x':
        case 'X': {
            uint64_t value = how.longs ? va_arg(list, uint64_t) : va_arg(list, unsigned);
            put_number(&out, &how, value, *format == 'u' ? 10 : 16, false, *format == 'X');
            break;
        }
        case 'p':
            put(&out, '0');
            put(&out, 'x');
            put_number(&out, &how, (uintptr_t)va_arg(list, void *), 16, false, false);
            break;
        case 'c': {
            char c = (char)va_arg(list, int);
            put_padded(&out, &c, 1, how.width, how.left);
            break;
        }
        case 's': {
            const char *string = va_arg(list, const char *);
            if (!string)
                string = "(null)";
            size_t length = 0;
            while (string[length])
                length++;
            put_padded(&out, string, length, how.width, how.left);
            break;
        }
        case '%':
            put(&out, '%');
            break;
        default: // not ours: show it
            while (start < format)
                put(&out, *start++);
            if (!*format)
                continue; // the text ended inside a conversion
            put(&out, *format);
        }
        format++;
    }
    if (room)
        text[out.used] = '\0';
    return out.used;
}

size_t format_text(char *out, size_t room, const char *format, ...) {
    va_list list;
    va_start(list, format);
    size_t used = format_list(out, room, format, list);
    va_end(list);
    return used;
}
