// What the process file system tells of others and lets one change.
#include "attack.h"

static char *of(const char *variable, const char *what) {
    char *path = malloc(PATH_MAX);
    snprintf(path, PATH_MAX, "/proc/%s/%s", given(variable), what);
    return path;
}

ATTACK(proc_self_root) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/self/root%s/secret", given("OUTSIDE"));
    show_path(path);
}

ATTACK(proc_self_cwd) { show_path("/proc/self/cwd/../outside/secret"); }

ATTACK(proc_other_root) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%s/root%s/secret", given("CANARY"), given("OUTSIDE"));
    show_path(path);
}

ATTACK(proc_other_cwd) { show_path(of("CANARY", "cwd/secret")); }

ATTACK(proc_other_descriptor) {
    char what[32];
    snprintf(what, sizeof what, "fd/%d", CANARY_FD);
    show_path(of("CANARY", what));
}

ATTACK(proc_other_environment) {
    char bytes[65536];
    int fd = must(open(of("CANARY", "environ"), O_RDONLY), "open");
    show_sentinel(bytes, must(read(fd, bytes, sizeof bytes), "read"));
}

ATTACK(proc_other_arguments) {
    char bytes[65536];
    int fd = must(open(of("CANARY", "cmdline"), O_RDONLY), "open");
    show_sentinel(bytes, must(read(fd, bytes, sizeof bytes), "read"));
}

ATTACK(proc_other_memory) {
    char bytes[sizeof canary_word];
    int fd = must(open(of("CANARY", "mem"), O_RDONLY), "open");
    must(pread(fd, bytes, sizeof bytes, (off_t)canary_word), "pread");
    show_sentinel(bytes, sizeof bytes);
}

ATTACK(proc_other_memory_write) {
    int fd = must(open(of("CANARY", "mem"), O_RDWR), "open");
    must(pwrite(fd, "struck", 7, (off_t)canary_word), "pwrite");
}

ATTACK(proc_other_maps) {
    show_path(of("CANARY", "maps"));
    worked("the memory of another process is laid open");
}

ATTACK(proc_other_exists) {
    must(access(of("CANARY", "stat"), F_OK), "access");
    char name[64] = {0};
    int fd = must(open(of("CANARY", "comm"), O_RDONLY), "open");
    must(read(fd, name, sizeof name - 1), "read");
    // Inside a namespace of processes of its own the number may be one of ours.
    if (!strcmp(name, "canary\n")) worked("a process outside is seen");
}

ATTACK(proc_other_oom_score) { put(of("CANARY", "oom_score_adj"), 0, "777"); }

// Everything that any process in sight has in its environment.
ATTACK(proc_every_environment) {
    DIR *directory = opendir("/proc");
    if (!directory) failed("opendir");
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[64], bytes[65536];
        snprintf(path, sizeof path, "/proc/%.20s/environ", entry->d_name);
        int fd = open(path, O_RDONLY);
        if (fd < 0) continue;
        ssize_t length = read(fd, bytes, sizeof bytes);
        close(fd);
        if (length > 0 && show_sentinel(bytes, length)) return;
    }
}

// Looks through the memory of a process for the secret.
static int search_memory(pid_t pid) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int memory = open(path, O_RDONLY);
    if (!maps || memory < 0) return 0;
    size_t room = 1 << 20;
    char *bytes = malloc(room);
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || mode[1] != 'w' || to - from > 64ul << 20) continue;
        for (; from < to; from += room) {
            size_t want = to - from < room ? to - from : room;
            ssize_t length = pread(memory, bytes, want, from);
            if (length > 0 && show_sentinel(bytes, length)) return 1;
        }
    }
    return 0;
}

// Who started us watches over us, and may share the memory of the program that wanted us started.
ATTACK(proc_parent_memory) {
    if (!search_memory(getppid()) && !search_memory(1)) failed("search");
}

ATTACK(proc_parent_environment) {
    for (int i = 0; i < 2; i++) {
        char path[64], bytes[65536];
        snprintf(path, sizeof path, "/proc/%d/environ", i ? 1 : getppid());
        int fd = open(path, O_RDONLY);
        ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
        if (length > 0 && show_sentinel(bytes, length)) return;
    }
    failed("open");
}

// The executable of the program that started us, which the next call would run.
ATTACK(proc_parent_executable) {
    char path[64];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/exe", i ? 1 : getppid());
        int fd = open(path, O_RDONLY);
        struct stat its, ours;
        if (fd < 0 || fstat(fd, &its) || stat("/proc/self/exe", &ours)) continue;
        if (its.st_ino != ours.st_ino) {
            worked("the program that started us is open");
            return;
        }
    }
    failed("open");
}

ATTACK(proc_parent_root) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/root%s/secret", getppid(), given("OUTSIDE"));
    if (access(path, F_OK)) snprintf(path, sizeof path, "/proc/1/root%s/secret", given("OUTSIDE"));
    show_path(path);
}

ATTACK(proc_parent_descriptors) {
    for (int fd = 0; fd < 1024; fd++) {
        char path[PATH_MAX], bytes[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getppid(), fd);
        struct stat status;
        if (stat(path, &status) || !S_ISREG(status.st_mode)) continue;
        int file = open(path, O_RDONLY);
        ssize_t length = file < 0 ? -1 : read(file, bytes, sizeof bytes);
        close(file);
        if (length > 0 && show_sentinel(bytes, length)) return;
    }
    errno = ENOENT;
    failed("open");
}

ATTACK(proc_host_name) { put("/proc/sys/kernel/hostname", 0, given("NONCE")); }

ATTACK(proc_core_pattern) {
    char bytes[256] = {0};
    int fd = must(open("/proc/sys/kernel/core_pattern", O_RDWR), "open");
    must(read(fd, bytes, sizeof bytes - 1), "read");
    must(pwrite(fd, bytes, strlen(bytes), 0), "write");
    worked("the program that the kernel runs at a crash can be set");
}

ATTACK(proc_kernel_layout) {
    char bytes[64];
    int fd = must(open("/proc/vmallocinfo", O_RDONLY), "open /proc/vmallocinfo");
    if (must(read(fd, bytes, sizeof bytes), "read") > 0) worked("where the kernel has its memory is told");
}

ATTACK(proc_kernel_symbols) {
    char bytes[64] = {0};
    int fd = must(open("/proc/kallsyms", O_RDONLY), "open");
    must(read(fd, bytes, sizeof bytes - 1), "read");
    if (strtoull(bytes, NULL, 16)) worked("the kernel's addresses are shown");
}

ATTACK(proc_network_sockets) {
    char line[512];
    FILE *sockets = fopen("/proc/net/unix", "r");
    if (!sockets) failed("open /proc/net/unix");
    while (fgets(line, sizeof line, sockets)) {
        if (strstr(line, "@cycod-escape")) {
            worked("the sockets of the machine are listed");
            return;
        }
    }
}
