// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "hot_spots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/// A block that only overlaps the region is counted as a whole: room for the rest.
enum { MARGIN = BLOCK_INSNS };

static struct hot_spot *spots; // of core 0, from `first` on
static uint64_t first, insns;
static uint64_t region_begin, region_end;

const char *hot_spots_open(const struct options *options) {
    if (!options->hot_path)
        return NULL;
    region_begin = options->hot_begin;
    region_end = options->hot_end;
    first = (region_begin & ~UINT64_C(3)) - MARGIN * 4;
    insns = (region_end - first) / 4 + MARGIN;
    const size_t bytes = sizeof(struct hot_spots_header) + MODEL_CORES * insns * sizeof *spots;
    const int fd = open(options->hot_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return "the file of hot spots cannot be created";
    struct hot_spots_header *header = MAP_FAILED;
    if (!ftruncate(fd, (off_t)bytes))
        header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (header == MAP_FAILED)
        return "the file of hot spots cannot be mapped";
    *header = (struct hot_spots_header){
        {'H', 'O', 'T', 'S', 'P', 'O', 'T', 'S'}, HOT_SPOTS_VERSION, MODEL_CORES, first, insns, CYCLE, {0}};
    spots = (struct hot_spot *)(header + 1);
    return NULL;
}

struct hot_spot *hot_spots_at(uint64_t vaddr, unsigned count) {
    if (!spots || vaddr + count * 4 <= region_begin || vaddr >= region_end)
        return NULL;
    return &spots[(vaddr - first) / 4];
}

struct hot_spot *hot_spots_of(const struct core *core, struct hot_spot *spot) {
    return spot + (uint64_t)(core - cores) * insns;
}
