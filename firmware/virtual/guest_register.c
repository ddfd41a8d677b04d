// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest_register.h"

#include <dlfcn.h>

/// GLib's GByteArray.
struct bytes {
    uint8_t *data;
    unsigned length;
};

static void *(*get_cpu)(int index);
static int (*read_register)(void *cpu, void *bytes, int number);
static void *(*new_bytes)(void);
static void *(*set_size)(void *bytes, unsigned size);

bool guest_register_open(void) {
    *(void **)&get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
    *(void **)&read_register = dlsym(RTLD_DEFAULT, "aarch64_cpu_gdb_read_register");
    *(void **)&new_bytes = dlsym(RTLD_DEFAULT, "g_byte_array_new");
    *(void **)&set_size = dlsym(RTLD_DEFAULT, "g_byte_array_set_size");
    return get_cpu && read_register && new_bytes && set_size;
}

bool guest_register(unsigned core, unsigned number, uint64_t *value) {
    static __thread struct bytes *bytes;
    if (!get_cpu || !read_register || !new_bytes || !set_size)
        return false;
    if (!bytes)
        bytes = new_bytes();
    set_size(bytes, 0);
    if (read_register(get_cpu((int)core), bytes, (int)number) != 8)
        return false;
    *value = 0;
    for (unsigned i = 8; i-- > 0;)
        *value = *value << 8 | bytes->data[i];
    return true;
}
