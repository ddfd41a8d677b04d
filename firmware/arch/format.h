// SPDX-License-Identifier: Apache-2.0
// Formatted text without a C library.
#pragma once

#include <stdarg.h>
#include <stddef.h>

/// Formats into `out`, always terminated, cut off at `room` bytes. Returns the length of the text without its
/// terminator. Knows %s %c %d %i %u %x %X %p %%, the sizes l, ll and z, a width, '0' and '-'. No floating
/// point. Anything else is copied as it stands.
size_t format_text(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t format_list(char *out, size_t room, const char *format, va_list list);
