#include "runner/program_probe.h"

#include "runner/elf_file.h"
#include "runner/engine_find.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define TRIPLET "aarch64-linux-gnu"
#else
#define MACHINE EM_X86_64
#define TRIPLET "x86_64-linux-gnu"
#endif

#define FOLDERS_MAX 8192
static const char default_folders[] =
    "/lib/" TRIPLET ":/usr/lib/" TRIPLET ":/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";

/* The folders in /etc/ld.so.conf.d, read instead of parsing the linker's cache. */
static void configured_folders(char *out, size_t n)
{
    static const char dir[] = "/etc/ld.so.conf.d";
    DIR *d = opendir(dir);
    size_t used = 0;
    out[0] = '\0';
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[sizeof dir + NAME_MAX + 2], line[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *in = strstr(e->d_name, ".conf") ? fopen(path, "re") : NULL;
        while (in && fgets(line, sizeof line, in)) {
            line[strcspn(line, " \t\r\n")] = '\0';
            size_t length = strlen(line);
            if (line[0] != '/' || used + length + 2 > n) continue;
            used += (size_t)snprintf(out + used, n - used, "%s%s", used ? ":" : "", line);
        }
        if (in) (void)fclose(in);
    }
    if (d) (void)closedir(d);
}

/* Skips libraries for other processors, as the dynamic linker does. */
static bool fits(const char *path, uint16_t machine)
{
    Elf64_Ehdr h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, &h, sizeof h);
    if (fd >= 0) (void)close(fd);
    return n == (ssize_t)sizeof h && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
           h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == machine;
}

/* Looks for `name` in a list of folders; $ORIGIN stands for `origin`. If machine is not EM_NONE,
 * the library must be for that machine. */
static bool find_in(const char *folders, const char *origin, const char *name, uint16_t machine,
                    char *out)
{
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");
        char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
        const char *rest = folders;
        size_t left = n;
        bool own = false;
        if (n >= 7 && strncmp(folders, "$ORIGIN", 7) == 0) own = true, rest += 7, left -= 7;
        if (n >= 9 && strncmp(folders, "${ORIGIN}", 9) == 0) own = true, rest += 9, left -= 9;
        (void)snprintf(folder, sizeof folder, "%s%.*s", own ? origin : "",
                       (int)(left < PATH_MAX ? left : 0), rest);
        (void)snprintf(path, sizeof path, "%s/%s", folder[0] ? folder : ".", name);
        if (n > 0 && access(path, R_OK) == 0 && (machine == EM_NONE || fits(path, machine)) &&
            realpath(path, out))
            return true;
        folders += n + (folders[n] == ':');
    }
    return false;
}

static void folder_of(const char *path, char *out)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(out, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path);
}

static bool is_listed(const tt_program_probe *p, const char *name)
{
    for (size_t i = 0; i < p->n_libraries; i++)
        if (strcmp(p->libraries[i].name, name) == 0) return true;
    return false;
}

static void add_needed(tt_program_probe *p, const tt_elf_file *elf, const char *path)
{
    static char configured[FOLDERS_MAX];
    char origin[PATH_MAX];
    folder_of(path, origin);
    if (!configured[0]) configured_folders(configured, sizeof configured);
    for (size_t i = 0; i < tt_elf_n_needed(elf) && p->n_libraries < TT_PROGRAM_LIBRARIES; i++) {
        const char *name = tt_elf_needed(elf, i);
        if (strlen(name) > NAME_MAX || is_listed(p, name)) continue;
        tt_program_library *l = &p->libraries[p->n_libraries++];
        (void)snprintf(l->name, sizeof l->name, "%s", name);
        const char *const lists[] = {tt_elf_runpath(elf), getenv("LD_LIBRARY_PATH"), configured,
                                     default_folders};
        bool found = false;
        for (size_t k = 0; !found && k < sizeof lists / sizeof lists[0]; k++)
            found = find_in(lists[k], origin, name, tt_elf_machine(elf), l->path);
        if (!found) l->path[0] = '\0';
    }
}

static bool defines_ggml(const tt_elf_file *elf)
{
    static const char *const names[] = {"ggml_graph_compute", "ggml_barrier", "ggml_new_tensor",
                                        "llama_decode"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (tt_elf_symbol_flags(elf, names[i]) & (TT_ELF_DEFINED | TT_ELF_STATIC)) return true;
    return false;
}

/* Notes a file that is not one of ggml's own libraries and has its functions. */
static void look_inside(tt_program_probe *p, const tt_elf_file *elf, const char *path)
{
    static const char *const called[] = {"ggml_cpu_extra_compute_forward",
                                         "ggml_backend_sched_graph_compute_async"};
    if (p->inside[0] || !defines_ggml(elf)) return;
    (void)snprintf(p->inside, sizeof p->inside, "%s", path);
    for (size_t i = 0; i < sizeof called / sizeof called[0]; i++)
        p->inside_is_called |=
            (tt_elf_symbol_flags(elf, called[i]) & TT_ELF_CALLED) && !tt_elf_is_symbolic(elf);
    const bool is_module = !tt_elf_interpreter(elf)[0];
    if (p->inside_is_called && is_module && !p->engine_dir[0]) folder_of(path, p->engine_dir);
}

/* Breadth first, as the dynamic linker does; the list is both queue and result. */
static void add_libraries(tt_program_probe *p, const tt_elf_file *program)
{
    add_needed(p, program, p->path);
    for (size_t i = 0; i < p->n_libraries; i++) {
        const tt_program_library *l = &p->libraries[i];
        tt_elf_file *elf = NULL;
        if (!l->path[0] || tt_elf_open(l->path, &elf, NULL) != TT_OK) continue;
        /* The scheduler's own library shows best where the engine is. */
        bool is_ggml = strncmp(l->name, "libggml", 7) == 0 || tt_engine_is_llama_name(l->name);
        if (is_ggml && !p->engine_dir[0]) folder_of(l->path, p->engine_dir);
        if (!is_ggml) look_inside(p, elf, l->path);
        add_needed(p, elf, l->path);
        tt_elf_close(elf);
    }
}

/* A stripped static build has no symbol names, but contains the text of ggml's assertions. */
static bool mentions_ggml(const char *path)
{
    static const char text[] = "GML_ASSERT("; /* without the G, this program would mention it */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool found = false;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            const char *at = memmem(map, (size_t)st.st_size, text, sizeof text - 1);
            found = at && at > (const char *)map && at[-1] == 'G';
            (void)munmap(map, (size_t)st.st_size);
        }
    }
    if (fd >= 0) (void)close(fd);
    return found;
}

/* The kernel makes the dynamic linker ignore LD_PRELOAD when starting the program raises its
 * privileges. */
static bool gains_rights(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid()) return true;
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid()) return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static tt_status find_program(const char *program, char *out, tt_error *err)
{
    bool found = strchr(program, '/') ? realpath(program, out) != NULL
                                      : find_in(getenv("PATH"), "", program, EM_NONE, out);
    struct stat st;
    if (!found)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no program %.200s%s", program,
                            strchr(program, '/') ? "" : " in PATH");
    if (stat(out, &st) == 0 && !S_ISREG(st.st_mode))
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%.250s is no program", out);
    return TT_OK;
}

/* "#!/usr/bin/env node" -> node; "#!/bin/sh -e" -> /bin/sh. */
static bool script_interpreter(const char *path, char *out, size_t n)
{
    char line[512] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0) (void)close(fd);
    if (got < 3 || line[0] != '#' || line[1] != '!') return false;
    line[strcspn(line, "\n")] = '\0';
    char *save = NULL, *word = strtok_r(line + 2, " \t", &save);
    const char *base = word ? strrchr(word, '/') : NULL;
    if (base && strcmp(base, "/env") == 0) {
        char *next = strtok_r(NULL, " \t", &save);
        while (next && (next[0] == '-' || strchr(next, '=')))
            next = strtok_r(NULL, " \t", &save);
        if (next) word = next;
    }
    if (!word) return false;
    (void)snprintf(out, n, "%s", word);
    return true;
}

/* The first library that the dynamic linker would not find; NULL: all are found. */
static const char *missing_library(const tt_program_probe *p)
{
    for (size_t i = 0; i < p->n_libraries; i++)
        if (!p->libraries[i].path[0]) return p->libraries[i].name;
    return NULL;
}

static void decide(tt_program_probe *p, const tt_elf_file *elf)
{
    p->verdict = TT_PROGRAM_NO;
    const char *why, *missing = missing_library(p);
    if (tt_elf_machine(elf) != MACHINE)
        why = "it is built for another processor";
    else if (p->is_static && (p->defines_ggml || p->mentions_ggml))
        why = "it is a static program with ggml inside: use a build with shared libraries "
              "(BUILD_SHARED_LIBS=ON)";
    else if (p->is_static)
        why = "it is a static program: no library can be preloaded into it";
    else if (p->is_secure)
        why = "starting it grants rights (set-user-id, set-group-id or file capabilities), so the "
              "dynamic linker ignores preloaded libraries: use a copy without them";
    else if (missing) {
        (void)snprintf(p->why, sizeof p->why,
                       "the program cannot start: %.120s is not found (set LD_LIBRARY_PATH to its "
                       "folder)",
                       missing);
        return;
    } else if (p->engine_dir[0] && !p->inside_is_called) {
        p->verdict = TT_PROGRAM_YES;
        why = "it links ggml's shared libraries";
    } else if (p->inside[0] && p->inside_is_called) {
        p->verdict = TT_PROGRAM_YES;
        (void)snprintf(p->why, sizeof p->why,
                       "all of ggml is in %.200s, and calls itself where hooks can be", p->inside);
        return;
    } else if (p->inside[0] || p->mentions_ggml) {
        (void)snprintf(p->why, sizeof p->why,
                       "ggml is linked into %.120s, where its calls cannot be replaced: use a "
                       "build with shared libraries (BUILD_SHARED_LIBS=ON)",
                       p->inside[0] && strcmp(p->inside, p->path) != 0 ? p->inside
                                                                       : "the program itself");
        return;
    } else {
        p->verdict = TT_PROGRAM_LATE;
        why = "it links no ggml; if it loads one while it runs (as Node and Python programs do), "
              "that is traced, else `run` exits with 3";
    }
    (void)snprintf(p->why, sizeof p->why, "%s", why);
}

tt_status tt_program_probe_new(const char *program, tt_program_probe **out, tt_error *err)
{
    char interpreter[512];
    tt_elf_file *elf = NULL;
    tt_program_probe *p = calloc(1, sizeof *p);
    if (!p) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_status status = find_program(program, p->path, err);
    if (status == TT_OK && script_interpreter(p->path, interpreter, sizeof interpreter)) {
        memcpy(p->script, p->path, sizeof p->script);
        status = find_program(interpreter, p->path, err);
    }
    if (status == TT_OK) status = tt_elf_open(p->path, &elf, err);
    if (status != TT_OK) {
        free(p);
        return status;
    }
    /* An addon (.node, a Python module) has no interpreter either, but it needs libraries; the
     * dynamic linker, which may be given a program to run, needs none, but has a name. */
    p->is_static =
        !tt_elf_interpreter(elf)[0] && tt_elf_n_needed(elf) == 0 && !tt_elf_soname(elf)[0];
    p->is_secure = gains_rights(p->path);
    p->defines_ggml = defines_ggml(elf);
    p->mentions_ggml = mentions_ggml(p->path);
    look_inside(p, elf, p->path);
    if (!p->is_static) add_libraries(p, elf);
    decide(p, elf);
    tt_elf_close(elf);
    *out = p;
    return TT_OK;
}

const char *tt_program_verdict_name(tt_program_verdict verdict)
{
    static const char *const names[] = {"no", "late", "yes"};
    return names[verdict];
}
