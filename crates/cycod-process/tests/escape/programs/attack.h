// What the attacks share. Each attack is one function; `attack NAME` runs it. What it knows of the outside comes by
// environment variables, as a spy inside a tool would know the usual paths and addresses.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Every secret of the suite begins with these letters and goes on with hexadecimal digits.
#define SENTINEL "SENTINEL-"
#define SECRET_FD 200
#define DIRECTORY_FD 201
#define SOCKET_FD 202
#define MEMORY_FD 203
#define CANARY_FD 9
#define PORT 7777

struct attack {
    const char *name;
    void (*run)(void);
};

#define ATTACK(id)                                                                                                     \
    static void attack_##id(void);                                                                                     \
    static const struct attack entry_##id __attribute__((section("attacks"), used, aligned(8))) = {#id, attack_##id};  \
    static void attack_##id(void)

// The same address in every process of this program: it is linked without relocation.
extern char canary_word[64];

// A variable of the environment; the attack ends when it is missing.
const char *given(const char *name);
int number(const char *name);
// A path below the directory that the variable names; each result stays valid.
char *below(const char *variable, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Says that the attack reached its end, for those that leave no other trace.
void worked(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Says why the attack stopped, and ends it.
void failed(const char *what) __attribute__((noreturn));
// Says that this machine does not have what the attack goes for, and ends it.
void absent(const char *what) __attribute__((noreturn));
// Opens something that not every machine has.
int open_if_here(const char *path, int flags);
// Returns its first argument, or fails when that is negative.
long must(long result, const char *what);
// Writes what can be read there to the output.
void show(int fd);
void show_path(const char *path);
// Writes the text into an existing or new file.
void put(const char *path, int flags, const char *text);
// Looks for a sentinel among the bytes and shows it.
int show_sentinel(const char *bytes, size_t length);
void pause_ms(int milliseconds);
long long now_ms(void);
// Waits for the child.
int reap(pid_t child);

int canary(void);
int witness(int argc, char **argv);
