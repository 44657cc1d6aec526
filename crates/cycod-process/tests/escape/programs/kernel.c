// Asking the kernel for more than a tool needs: namespaces, mounts, other doors for the same calls.
#include "attack.h"
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/user.h>
#ifdef __x86_64__
#include <asm/ldt.h>
#endif

static void unshared(int flags, const char *what) {
    must(unshare(flags), "unshare");
    worked("a new namespace of %s", what);
}

ATTACK(unshare_user) { unshared(CLONE_NEWUSER, "users"); }

ATTACK(unshare_mount) { unshared(CLONE_NEWUSER | CLONE_NEWNS, "mounts"); }

ATTACK(unshare_network) { unshared(CLONE_NEWUSER | CLONE_NEWNET, "the network"); }

ATTACK(unshare_process) { unshared(CLONE_NEWUSER | CLONE_NEWPID, "processes"); }

ATTACK(clone_user) {
    long child = must(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), "clone");
    if (child == 0) _exit(0);
    reap(child);
    worked("a new namespace of users");
}

ATTACK(clone3_user) {
    struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long child = must(syscall(SYS_clone3, &arguments, sizeof arguments), "clone3");
    if (child == 0) _exit(0);
    reap(child);
    worked("a new namespace of users");
}

static void join(const char *kind, int flag) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/%s", given("CANARY"), kind);
    must(setns(must(open(path, O_RDONLY), path), flag), "setns");
}

ATTACK(join_mounts) {
    join("mnt", CLONE_NEWNS);
    show_path(below("OUTSIDE", "secret"));
}

ATTACK(join_network) {
    join("net", CLONE_NEWNET);
    worked("the network outside was joined");
}

// A process handle from the kernel instead of a path in /proc.
ATTACK(join_by_handle) {
    int fd = must(syscall(SYS_pidfd_open, number("CANARY"), 0), "pidfd_open");
    must(setns(fd, CLONE_NEWNS | CLONE_NEWNET), "setns");
    show_path(below("OUTSIDE", "secret"));
}

// Leaves the mounts of everybody else alone, also when there is no confinement.
static void own_mounts(void) {
    char map[64];
    uid_t user = getuid(), group = getgid();
    if (unshare(CLONE_NEWNS)) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return;
        snprintf(map, sizeof map, "0 %u 1", user);
        put("/proc/self/uid_map", 0, map);
        put("/proc/self/setgroups", 0, "deny");
        snprintf(map, sizeof map, "0 %u 1", group);
        put("/proc/self/gid_map", 0, map);
    }
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

ATTACK(mount_memory) {
    own_mounts();
    must(mount("tmpfs", given("GRANTED"), "tmpfs", 0, NULL), "mount");
    worked("a file system was mounted");
}

ATTACK(mount_bind) {
    own_mounts();
    must(mkdir(below("GRANTED", "there"), 0777), "mkdir");
    must(mount("/", below("GRANTED", "there"), NULL, MS_BIND | MS_REC, NULL), "mount");
    worked("a directory was mounted elsewhere");
}

ATTACK(mount_proc) {
    own_mounts();
    must(mkdir(below("GRANTED", "proc"), 0777), "mkdir");
    must(mount("proc", below("GRANTED", "proc"), "proc", 0, NULL), "mount");
    worked("another /proc was mounted");
}

// Takes off whatever lies over the directories of the machine.
ATTACK(unmount_all) {
    own_mounts();
    char line[4096], where[PATH_MAX];
    FILE *mounts = fopen("/proc/self/mountinfo", "r");
    if (!mounts) failed("open /proc/self/mountinfo");
    int taken = 0;
    char *all[1024];
    int count = 0;
    while (count < 1024 && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%*d %*d %*s %*s %4095s", where) == 1) all[count++] = strdup(where);
    while (count--) taken += umount2(all[count], MNT_DETACH) == 0;
    if (taken) worked("%d mounts were taken off", taken);
    else failed("umount2");
}

ATTACK(remount_writable) {
    own_mounts();
    mount(NULL, given("READABLE"), NULL, MS_REMOUNT | MS_BIND, NULL);
    put(below("READABLE", "file"), O_TRUNC, given("NONCE"));
}

ATTACK(remount_root_writable) {
    own_mounts();
    must(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), "mount");
    worked("the root was mounted anew");
}

ATTACK(pivot_root) {
    own_mounts();
    must(mkdir(below("GRANTED", "root"), 0777), "mkdir");
    must(mount("tmpfs", below("GRANTED", "root"), "tmpfs", 0, NULL), "mount");
    must(mkdir(below("GRANTED", "root/old"), 0777), "mkdir");
    must(syscall(SYS_pivot_root, below("GRANTED", "root"), below("GRANTED", "root/old")), "pivot_root");
    worked("the root was exchanged");
}

// The old way out of a changed root: change it again below, and walk up from a directory that is not in it.
ATTACK(chroot_twice) {
    must(mkdir(below("GRANTED", "cell"), 0777), "mkdir");
    must(chroot(below("GRANTED", "cell")), "chroot");
    for (int i = 0; i < 40; i++) must(chdir(".."), "chdir");
    must(chroot("."), "chroot");
    show_path(below("OUTSIDE", "secret"));
}

ATTACK(file_handle) {
    // A handle names an inode, whatever path leads there; handles can be guessed.
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle;
    const char *text = given("HANDLE");
    unsigned type = 0;
    int used = 0;
    sscanf(text, "%u:%n", &type, &used);
    unsigned length = 0;
    for (text += used; length < 128 && sscanf(text, "%2hhx", &handle.head.f_handle[length]) == 1; text += 2) length++;
    handle.head.handle_type = type;
    handle.head.handle_bytes = length;
    int base = must(open(given("GRANTED"), O_RDONLY | O_DIRECTORY), "open");
    show(must(syscall(SYS_open_by_handle_at, base, &handle, O_RDONLY), "open_by_handle_at"));
}

ATTACK(new_mount_calls) {
    own_mounts();
    int fs = must(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
    must(syscall(SYS_fsconfig, fs, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0), "fsconfig");
    int mounted = must(syscall(SYS_fsmount, fs, 0, 0), "fsmount");
    must(syscall(SYS_move_mount, mounted, "", AT_FDCWD, given("GRANTED"), 4 /* MOVE_MOUNT_F_EMPTY_PATH */), "move_mount");
    worked("a file system was mounted by the newer calls");
}

ATTACK(open_tree) {
    own_mounts();
    must(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */ | AT_RECURSIVE), "open_tree");
    worked("the tree of mounts was copied");
}

ATTACK(mount_attributes) {
    own_mounts();
    struct {
        uint64_t set, clear, propagation, fd;
    } attributes = {.clear = 1 /* MOUNT_ATTR_RDONLY */};
    must(syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes), "mount_setattr");
    worked("mounts were made writable");
}

// A ring of requests: the kernel carries out what it holds, without a system call for each.
struct ring {
    int fd;
    unsigned *sq_tail, *sq_array, *cq_head, *cq_tail;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
};

static struct ring ring_open(void) {
    struct io_uring_params parameters = {0};
    struct ring ring;
    ring.fd = must(syscall(SYS_io_uring_setup, 4, &parameters), "io_uring_setup");
    char *sq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
    ring.sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqes == MAP_FAILED) failed("mmap of the ring");
    ring.sq_tail = (unsigned *)(sq + parameters.sq_off.tail);
    ring.sq_array = (unsigned *)(sq + parameters.sq_off.array);
    ring.cq_head = (unsigned *)(cq + parameters.cq_off.head);
    ring.cqes = (struct io_uring_cqe *)(cq + parameters.cq_off.cqes);
    return ring;
}

static int ring_do(struct ring *ring, struct io_uring_sqe request) {
    ring->sqes[0] = request;
    ring->sq_array[0] = 0;
    __atomic_store_n(ring->sq_tail, *ring->sq_tail + 1, __ATOMIC_RELEASE);
    must(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), "io_uring_enter");
    int result = ring->cqes[*ring->cq_head & 7].res;
    __atomic_store_n(ring->cq_head, *ring->cq_head + 1, __ATOMIC_RELEASE);
    errno = result < 0 ? -result : 0;
    return must(result, "the request in the ring");
}

ATTACK(ring_open_file) {
    struct ring ring = ring_open();
    char bytes[64];
    int fd = ring_do(&ring, (struct io_uring_sqe){.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD,
                                                  .addr = (uintptr_t)below("OUTSIDE", "secret"), .open_flags = O_RDONLY});
    int length = ring_do(&ring, (struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)bytes,
                                                      .len = sizeof bytes});
    show_sentinel(bytes, length);
}

ATTACK(ring_connect) {
    struct ring ring = ring_open();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(0x7f000001)}};
    int fd = ring_do(&ring, (struct io_uring_sqe){.opcode = 45 /* IORING_OP_SOCKET */, .fd = AF_INET, .off = SOCK_STREAM});
    ring_do(&ring, (struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = fd, .addr = (uintptr_t)&address,
                                         .off = sizeof address});
    ring_do(&ring, (struct io_uring_sqe){.opcode = IORING_OP_SEND, .fd = fd, .addr = (uintptr_t)given("NONCE"),
                                         .len = strlen(given("NONCE"))});
}

ATTACK(bpf_map) {
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    must(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes), "bpf");
    worked("programs for the kernel can be made");
}

ATTACK(perf) {
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1, .exclude_hv = 1};
    must(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0), "perf_event_open");
    worked("the processor's counters are read");
}

ATTACK(user_faults) {
    must(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */), "userfaultfd");
    worked("page faults can be held up");
}

ATTACK(keyring_read) {
    long key = must(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "cycod-escape", 0), "KEYCTL_SEARCH");
    char bytes[128];
    long length = must(syscall(SYS_keyctl, KEYCTL_READ, key, bytes, sizeof bytes, 0), "KEYCTL_READ");
    show_sentinel(bytes, length);
}

ATTACK(keyring_write) {
    long key = must(syscall(SYS_add_key, "user", given("NONCE"), "x", 1, KEY_SPEC_USER_KEYRING), "add_key");
    syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0, 0);
    worked("the keyring of the user was written");
}

ATTACK(keyring_session) {
    must(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "escape"), "keyctl");
    worked("a new keyring");
}

// Runs with the rights of root, wherever it was started.
ATTACK(privileged_read) { show_path(below("PRIVILEGED", "secret")); }

static void run_privileged(const char *program) {
    execl(below("PRIVILEGED", "%s", program), "attack", "privileged_read", (char *)NULL);
    failed("execl");
}

ATTACK(setuid_program) { run_privileged("setuid"); }

ATTACK(file_capability) { run_privileged("capable"); }

ATTACK(capabilities_held) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) failed("open /proc/self/status");
    while (fgets(line, sizeof line, status)) {
        unsigned long long set = 0;
        if (sscanf(line, "CapEff: %llx", &set) == 1 && set) worked("capabilities %llx are held", set);
    }
}

ATTACK(capabilities_gained) {
    // A new user namespace gives all of them, inside.
    must(unshare(CLONE_NEWUSER | CLONE_NEWUTS), "unshare");
    must(sethostname("escape", 6), "sethostname");
    worked("the rights of an administrator, in a namespace");
}

ATTACK(personality) {
    must(personality(ADDR_NO_RANDOMIZE), "personality");
    worked("addresses are no longer random");
}

#ifdef __x86_64__
// The system calls of 32-bit programs have other numbers, which a filter may not know.
static long compat(long call, long a, long b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(call), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? -result : 0;
    return result < 0 ? -1 : result;
}

ATTACK(compat_open) {
    // Its addresses have 32 bits.
    char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    strcpy(low, below("OUTSIDE", "secret"));
    long fd = must(compat(5, (long)low, O_RDONLY, 0), "open");
    show_sentinel(low + 4096, must(compat(3, fd, (long)low + 4096, 64), "read"));
}

ATTACK(compat_socket) {
    unsigned *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    long fd = must(compat(359, AF_INET, SOCK_DGRAM, 0), "socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(0x7f000001)}};
    memcpy(low, &address, sizeof address);
    must(compat(362, fd, (long)low, sizeof address), "connect");
    strcpy((char *)low, given("NONCE"));
    must(compat(4, fd, (long)low, strlen(given("NONCE"))), "write");
}

ATTACK(compat_unshare) {
    must(compat(310, CLONE_NEWUSER, 0, 0), "unshare");
    worked("a new namespace by the call of another architecture");
}

ATTACK(local_descriptors) {
    struct user_desc entry = {.entry_number = 0, .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1, .useable = 1};
    must(syscall(SYS_modify_ldt, 1, &entry, sizeof entry), "modify_ldt");
    worked("the processor's table of segments was changed");
}

#endif

// The call is let through when it complains about its arguments rather than about our rights.
static void reached(long result, const char *what) {
    if (result < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES)) failed(what);
    worked("%s is let through", what);
}

ATTACK(reboot) { reached(syscall(SYS_reboot, 1, 2, 3, NULL), "reboot"); }

ATTACK(swap) { reached(syscall(SYS_swapoff, "/nonexistent"), "swapoff"); }

ATTACK(accounting) { reached(syscall(SYS_acct, NULL), "acct"); }

ATTACK(set_time) {
    struct timezone zone = {0, 0};
    reached(syscall(SYS_settimeofday, NULL, &zone), "settimeofday");
}

ATTACK(kernel_log) { reached(syscall(SYS_syslog, 3, "", 0), "syslog"); }

ATTACK(host_name) { must(sethostname(given("NONCE"), strlen(given("NONCE"))), "sethostname"); }

// A filter looks at a call before a tracer can change it; the tracer is one's own parent.
ATTACK(trace_own_child) {
    pid_t child = fork();
    if (child == 0) {
        must(ptrace(PTRACE_TRACEME, 0, NULL, NULL), "PTRACE_TRACEME");
        raise(SIGSTOP);
        _exit(0);
    }
    int status = reap(child);
    if (!WIFSTOPPED(status)) exit(1);
    worked("a child can be traced, and its calls changed");
    kill(child, SIGKILL);
}

ATTACK(core_dump) {
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    pid_t child = fork();
    if (child == 0) abort();
    int status = reap(child);
    if (WCOREDUMP(status)) worked("the memory was written to a file, or to the program that the kernel runs then");
}

ATTACK(realtime) {
    struct sched_param parameters = {.sched_priority = 1};
    must(sched_setscheduler(0, SCHED_FIFO, &parameters), "sched_setscheduler");
    worked("it goes before everybody else");
}

ATTACK(priority_raised) {
    must(setpriority(PRIO_PROCESS, 0, -20), "setpriority");
    worked("it goes before everybody else");
}
