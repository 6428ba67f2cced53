/* Runs a fuzz target without a fuzzer: on every file of a corpus folder, then on
 * mutations of each. The mutations come from a fixed seed, so a failure repeats;
 * the input at work is kept in NAME.input, so a crash leaves it behind, and
 * `replay_NAME NAME.input` runs it again. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (4u << 20)
#define MUTATIONS_EACH 4000
#define SECONDS_MAX 20
#define EDITS_MAX 8

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static size_t below(size_t n)
{
    return n ? (size_t)(next_random() % n) : 0;
}

/* One edit of the kinds that break parsers: a bit, a byte, an extreme integer, a
 * cut, a repeated or removed piece. Returns the new size. */
static size_t edit(uint8_t *data, size_t size)
{
    static const uint64_t extremes[] = {
        0,          1,          0x7f,       0x80,      0xff,       0xffff,     0x7fffffff,
        0x80000000, 0xffffffff, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX, UINT64_MAX - 7};
    if (size == 0) return size;
    size_t at = below(size), left = size - at;
    switch (below(6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        data[at] = (uint8_t)next_random();
        return size;
    case 2: {
        uint64_t v = extremes[below(sizeof extremes / sizeof *extremes)];
        size_t width = (size_t)1 << below(4);
        memcpy(data + at, &v, width < left ? width : left);
        return size;
    }
    case 3:
        return at;
    case 4: {
        size_t n = 1 + below(left < 64 ? left : 64);
        memmove(data + at, data + at + n, left - n);
        return size - n;
    }
    default: {
        size_t n = 1 + below(left < 64 ? left : 64);
        if (size + n > INPUT_MAX) return size;
        memmove(data + at + n, data + at, left);
        return size + n;
    }
    }
}

/* The input lies in a buffer of exactly its size, so that a sanitizer sees a read
 * past its end. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) abort();
    memcpy(exact, data, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* The input being run, in a shared mapping: it is in the file even after a crash. */
static struct {
    uint64_t size;
    uint8_t data[INPUT_MAX];
} * current;

static bool open_current(const char *path)
{
    FILE *f = fopen(path, "w+");
    if (!f || ftruncate(fileno(f), (off_t)sizeof *current) != 0) return false;
    current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
    (void)fclose(f);
    return current != MAP_FAILED;
}

static size_t replay(const uint8_t *original, size_t size, time_t deadline)
{
    size_t runs = 1;
    memcpy(current->data, original, size);
    current->size = size;
    run(current->data, size);
    random_state = 0x9e3779b97f4a7c15u ^ size;
    for (; runs <= MUTATIONS_EACH && time(NULL) < deadline; runs++) {
        size_t edits = 1 + below(EDITS_MAX);
        memcpy(current->data, original, size);
        current->size = size;
        for (size_t i = 0; i < edits; i++)
            current->size = edit(current->data, (size_t)current->size);
        run(current->data, (size_t)current->size);
    }
    return runs;
}

static size_t read_file(const char *folder, const char *name, uint8_t *out)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    size_t size = fread(out, 1, INPUT_MAX, f);
    (void)fclose(f);
    return size;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* One input alone: what a failed run left behind. */
static int run_file(const char *path)
{
    static uint8_t all[sizeof *current];
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(all, 1, sizeof all, f) : 0;
    uint64_t length = size;
    const uint8_t *data = all;
    if (!f) return 2;
    (void)fclose(f);
    if (size == sizeof all) {
        memcpy(&length, all, sizeof length);
        data += sizeof length;
    }
    run(data, (size_t)(length < INPUT_MAX ? length : INPUT_MAX));
    return 0;
}

int main(int argc, char **argv)
{
    struct stat st;
    struct dirent **names = NULL;
    char current_path[4096];
    const char *base = strrchr(argv[0], '/');
    if (argc == 2 && stat(argv[1], &st) == 0 && S_ISREG(st.st_mode)) return run_file(argv[1]);
    uint8_t *original = malloc(INPUT_MAX);
    (void)snprintf(current_path, sizeof current_path, "%s.input", base ? base + 1 : argv[0]);
    if (argc != 2 || !original || !open_current(current_path)) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER | INPUT\n", argv[0]);
        return 2;
    }
    int count = scandir(argv[1], &names, visible, alphasort);
    time_t deadline = time(NULL) + SECONDS_MAX;
    size_t runs = replay(original, 0, deadline);
    for (int i = 0; i < count; i++) {
        /* Every file gets its share of the time that is left. */
        time_t now = time(NULL);
        size_t size = read_file(argv[1], names[i]->d_name, original);
        time_t share = now + 1 + (deadline - now) / (count - i);
        runs += replay(original, size, share);
        free(names[i]);
    }
    free(names);
    free(original);
    (void)unlink(current_path);
    printf("%d files, %zu inputs\n", count < 0 ? 0 : count, runs);
    return count > 0 ? 0 : 1;
}
