// Taking more than was given, and staying longer. Each bomb has a bound of its own, so that it hurts nobody.
#include "attack.h"
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>

// Says so when the attack got more than it may have.
static void counted(long count, const char *what) {
    if (count > number("BOUND")) worked("%ld %s", count, what);
    else printf("failed: %ld %s: %s\n", count, what, strerror(errno));
}

ATTACK(bomb_processes) {
    int ends[2];
    must(pipe(ends), "pipe");
    long count = 0, most = 3 * number("BOUND");
    for (; count < most; count++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            char byte;
            close(ends[1]);
            _exit(read(ends[0], &byte, 1));
        }
    }
    counted(count, "processes at once");
    close(ends[1]);
    while (wait(NULL) > 0) continue;
}

static pthread_barrier_t never;
static void *idle(void *unused) {
    pause();
    return unused;
}

ATTACK(bomb_threads) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    pthread_barrier_init(&never, NULL, 2);
    long count = 0, most = 3 * number("BOUND");
    for (pthread_t thread; count < most && !(errno = pthread_create(&thread, &attributes, idle, NULL)); count++) continue;
    counted(count, "threads at once");
}

enum { MIB = 1 << 20 };

// How far it came is told by the last line, also when it is killed on the way.
static void took(long mebibytes) {
    if (mebibytes > number("BOUND")) worked("%ld MiB", mebibytes);
}

ATTACK(bomb_memory) {
    for (long i = 1, most = 3 * number("BOUND"); i <= most; i++) {
        char *page = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) failed("mmap");
        memset(page, 1, MIB);
        if (i == most) took(i);
    }
}

// Each process stays below the limit; together they do not.
ATTACK(bomb_memory_of_many) {
    int most = 4;
    long each = number("BOUND") * 3 / 4;
    int ends[2];
    must(pipe(ends), "pipe");
    for (int i = 0; i < most; i++) {
        if (fork() == 0) {
            char *bytes = mmap(NULL, each * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (bytes == MAP_FAILED) _exit(1);
            memset(bytes, 1, each * MIB);
            if (write(ends[1], "x", 1) != 1) _exit(1);
            pause_ms(300);
            _exit(0);
        }
    }
    close(ends[1]);
    char byte;
    long done = 0;
    while (read(ends[0], &byte, 1) == 1) done++;
    took(done * each);
    while (wait(NULL) > 0) continue;
}

static void fill(int fd) {
    static char bytes[MIB];
    memset(bytes, 1, sizeof bytes);
    long most = 3 * number("BOUND");
    for (long i = 1; i <= most; i++) {
        for (size_t done = 0; done < sizeof bytes;)
            done += must(write(fd, bytes + done, sizeof bytes - done), "write");
    }
    took(most);
}

static void fill_path(const char *path) {
    int fd = must(open(path, O_CREAT | O_RDWR, 0600), path);
    unlink(path);
    fill(fd);
}

static char *in_temp(const char *name) {
    char *path = malloc(PATH_MAX);
    const char *temp = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/%s-%s", temp ? temp : "/tmp", given("NONCE"), name);
    return path;
}

ATTACK(bomb_temp) { fill_path(in_temp("bomb")); }

ATTACK(bomb_shared_memory_file) {
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/bomb-%s", given("NONCE"));
    fill_path(path);
}

ATTACK(bomb_memory_file) { fill(must(memfd_create("bomb", 0), "memfd_create")); }

ATTACK(bomb_sysv_memory) {
    size_t size = 3ul * number("BOUND") * MIB;
    int segment = must(shmget(IPC_PRIVATE, size, IPC_CREAT | 0600), "shmget");
    char *bytes = shmat(segment, NULL, 0);
    shmctl(segment, IPC_RMID, NULL);
    if (bytes == (char *)-1) failed("shmat");
    memset(bytes, 1, size);
    took(size / MIB);
}

ATTACK(bomb_file) {
    signal(SIGXFSZ, SIG_IGN);
    fill_path(below("GRANTED", "bomb"));
}

ATTACK(bomb_files_in_temp) {
    must(mkdir(in_temp("many"), 0700), "mkdir");
    must(chdir(in_temp("many")), "chdir");
    long count = 0, most = 3 * number("BOUND");
    for (; count < most; count++) {
        char name[32];
        snprintf(name, sizeof name, "%ld", count);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (fd < 0) break;
        close(fd);
    }
    int error = errno;
    for (long i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%ld", i);
        unlink(name);
    }
    rmdir(in_temp("many"));
    errno = error;
    counted(count, "files");
}

ATTACK(bomb_descriptors) {
    long count = 0, most = 3 * number("BOUND");
    while (count < most && dup(0) >= 0) count++;
    counted(count, "descriptors");
}

ATTACK(bomb_processor) {
    // Bounded by itself, in case nobody else does it.
    for (long long end = now_ms() + 4000; now_ms() < end;) continue;
    worked("four seconds of the processor");
}

ATTACK(own_environment) {
    extern char **environ;
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "NONCE=", 6)) printf("%s\n", *entry);
}

// Whoever stays keeps the mark in its environment, by which it is found.
static void linger(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    for (int fd = 0; fd < 3; fd++) close(fd);
    for (long long end = now_ms() + 20000; now_ms() < end;) pause_ms(1000);
    _exit(0);
}

// Ready once the survivor had time to settle.
static void left(void) { pause_ms(30); }

ATTACK(stay_deaf) {
    if (fork() == 0) linger();
    left();
}

ATTACK(stay_session) {
    if (fork() == 0) {
        setsid();
        linger();
    }
    left();
}

ATTACK(stay_daemon) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            must(chdir("/"), "chdir");
            linger();
        }
        _exit(0);
    }
    left();
}

ATTACK(stay_orphan_chain) {
    // Each parent is gone before its child forks, so a walk through the tree finds nobody to ask.
    if (fork() == 0) {
        for (int i = 0; i < 200; i++) {
            if (fork() > 0) _exit(0);
            if (i % 7 == 0) setsid();
        }
        linger();
    }
    left();
}

// The child becomes a child of who started us.
ATTACK(stay_sibling) {
    if (must(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0), "clone") == 0) linger();
    left();
}

ATTACK(stay_adopted) {
    // The orphans of this process come to it, not to the warden.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fork() == 0) {
        if (fork() == 0) linger();
        _exit(0);
    }
    left();
}

ATTACK(stay_without_parent_signal) {
    prctl(PR_SET_PDEATHSIG, 0);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        setsid();
        linger();
    }
    left();
}

static void strike_parents(int signal) {
    pid_t parent = getppid();
    if (fork() == 0) {
        setsid();
        linger();
    }
    left();
    kill(parent ? parent : 1, signal);
    left();
}

// The one that would clean up is killed first. Unconfined, the parent is the suite itself, which ignores this signal.
ATTACK(stay_killing_warden) { strike_parents(given("WARDEN")[0] == 'k' ? SIGKILL : SIGURG); }

ATTACK(stay_stopping_warden) { strike_parents(given("WARDEN")[0] == 'k' ? SIGSTOP : SIGURG); }
