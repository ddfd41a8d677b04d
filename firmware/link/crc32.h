// SPDX-License-Identifier: Apache-2.0
// CRC-32 as in zlib and Ethernet (reflected 0x04c11db7), by the CRC32X instructions.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Continues `crc`, the value for what came before; 0 at the start.
uint32_t crc32(uint32_t crc, const void *data, size_t bytes);
