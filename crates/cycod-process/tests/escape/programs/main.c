#include "attack.h"
#include <stdarg.h>

extern const struct attack __start_attacks[], __stop_attacks[];

const char *given(const char *name) {
    const char *value = getenv(name);
    if (!value) {
        fprintf(stderr, "failed: the variable %s is missing\n", name);
        exit(2);
    }
    return value;
}

int number(const char *name) { return atoi(given(name)); }

char *below(const char *variable, const char *format, ...) {
    char *path = malloc(PATH_MAX);
    int length = snprintf(path, PATH_MAX, "%s/", given(variable));
    va_list list;
    va_start(list, format);
    vsnprintf(path + length, PATH_MAX - length, format, list);
    va_end(list);
    return path;
}

void worked(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("worked: ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

void failed(const char *what) {
    printf("failed: %s: %s\n", what, strerror(errno));
    exit(1);
}

void absent(const char *what) {
    printf("absent: this machine has no %s\n", what);
    exit(1);
}

int open_if_here(const char *path, int flags) {
    int fd = open(path, flags);
    if (fd < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO)) absent(path);
    return must(fd, path);
}

long must(long result, const char *what) {
    if (result < 0) failed(what);
    return result;
}

void show(int fd) {
    char bytes[4096];
    ssize_t length = must(read(fd, bytes, sizeof bytes), "read");
    if (length > 0 && write(1, bytes, length) != length) exit(2);
    printf("\n");
}

void show_path(const char *path) { show(must(open(path, O_RDONLY | O_CLOEXEC), path)); }

void put(const char *path, int flags, const char *text) {
    int fd = must(open(path, O_WRONLY | O_CLOEXEC | flags, 0666), path);
    must(write(fd, text, strlen(text)), "write");
    must(close(fd), "close");
}

int show_sentinel(const char *bytes, size_t length) {
    const size_t mark = strlen(SENTINEL), whole = mark + 32;
    for (const char *at = bytes; (at = memmem(at, length - (at - bytes), SENTINEL, mark)); at += mark) {
        if ((size_t)(at - bytes) + whole <= length && strspn(at + mark, "0123456789abcdef") >= 32) {
            printf("%.*s\n", (int)whole, at);
            return 1;
        }
    }
    return 0;
}

void pause_ms(int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

long long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

int reap(pid_t child) {
    int status = 0;
    must(waitpid(child, &status, 0), "waitpid");
    return status;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1 && !strcmp(argv[1], "canary")) return canary();
    if (argc > 1 && !strcmp(argv[1], "witness")) return witness(argc, argv);
    for (const struct attack *attack = __start_attacks; attack < __stop_attacks; attack++) {
        if (argc < 2) {
            printf("%s\n", attack->name);
        } else if (!strcmp(argv[1], attack->name)) {
            // A run that never got this far proves nothing.
            printf("begun\n");
            attack->run();
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}
