// Talking to processes outside, striking them, and using what they left open.
#include "attack.h"
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/un.h>

static int unix_connect(int type, const char *path, const char *abstract) {
    int fd = must(socket(AF_UNIX, type | SOCK_CLOEXEC, 0), "socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    if (path) {
        strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    } else {
        strcpy(address.sun_path + 1, abstract);
        length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract);
    }
    must(connect(fd, (struct sockaddr *)&address, length), "connect");
    return fd;
}

static void tell(int fd) { must(send(fd, given("NONCE"), strlen(given("NONCE")), MSG_NOSIGNAL), "send"); }

// Something like the socket of a container service, whose client is as good as root.
ATTACK(socket_pathname) { tell(unix_connect(SOCK_STREAM, given("SOCKET"), NULL)); }

ATTACK(socket_pathname_datagram) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.datagram", given("SOCKET"));
    tell(unix_connect(SOCK_DGRAM, path, NULL));
}

// The same socket, where reading files is granted.
ATTACK(socket_in_read_only_grant) { tell(unix_connect(SOCK_STREAM, below("READABLE", "socket"), NULL)); }

// One of a pair may speak with others than its twin, and needs no call that makes a socket.
ATTACK(socket_from_pair) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "socketpair");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, below("READABLE", "socket.datagram"), sizeof address.sun_path - 1);
    must(sendto(ends[0], given("NONCE"), strlen(given("NONCE")), 0, (struct sockaddr *)&address, sizeof address), "sendto");
}

ATTACK(socket_through_symlink) {
    must(symlink(given("SOCKET"), below("GRANTED", "socket")), "symlink");
    must(chdir(given("GRANTED")), "chdir");
    tell(unix_connect(SOCK_STREAM, "socket", NULL));
}

ATTACK(socket_abstract) { tell(unix_connect(SOCK_STREAM, NULL, "cycod-escape")); }

ATTACK(socket_abstract_datagram) { tell(unix_connect(SOCK_DGRAM, NULL, "cycod-escape.datagram")); }

// An open file comes by a socket; whoever holds it needs no path.
ATTACK(descriptor_received) {
    int fd = unix_connect(SOCK_STREAM, NULL, "cycod-escape");
    char bytes[256], control[CMSG_SPACE(sizeof(int))];
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    must(recvmsg(fd, &message, 0), "recvmsg");
    int passed = -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header) memcpy(&passed, CMSG_DATA(header), sizeof passed);
    must(lseek(passed, 0, SEEK_SET), "lseek");
    show(passed);
}

ATTACK(descriptor_file) {
    char bytes[64];
    ssize_t length = must(pread(SECRET_FD, bytes, sizeof bytes, 0), "pread");
    show_sentinel(bytes, length);
}

ATTACK(descriptor_any) {
    for (int fd = 3; fd < 4096; fd++) {
        char bytes[64];
        ssize_t length = pread(fd, bytes, sizeof bytes, 0);
        if (length > 0 && show_sentinel(bytes, length)) return;
    }
    failed("pread");
}

ATTACK(descriptor_directory) { show(must(openat(DIRECTORY_FD, "secret", O_RDONLY), "openat")); }

// A directory that was open before the confinement: from there the whole tree can be walked.
ATTACK(descriptor_directory_walk) {
    must(fchdir(DIRECTORY_FD), "fchdir");
    char path[PATH_MAX] = "";
    for (int i = 0; i < 40; i++) strcat(path, "../");
    strcat(path, given("OUTSIDE") + 1);
    strcat(path, "/secret");
    show_path(path);
}

ATTACK(descriptor_socket) { tell(SOCKET_FD); }

ATTACK(descriptor_memory) {
    char bytes[64];
    show_sentinel(bytes, must(pread(MEMORY_FD, bytes, sizeof bytes, 0), "pread"));
}

ATTACK(sysv_shared_memory) {
    char *memory = shmat(must(shmget(PORT, 0, 0), "shmget"), NULL, SHM_RDONLY);
    if (memory == (char *)-1) failed("shmat");
    show_sentinel(memory, 4096);
}

ATTACK(sysv_message_queue) {
    struct {
        long kind;
        char text[64];
    } message = {1, ""};
    strcpy(message.text, given("NONCE"));
    must(msgsnd(must(msgget(PORT, 0), "msgget"), &message, strlen(message.text), 0), "msgsnd");
}

ATTACK(posix_message_queue) {
    mqd_t queue = must(mq_open("/cycod-escape", O_WRONLY), "mq_open");
    must(mq_send(queue, given("NONCE"), strlen(given("NONCE")), 0), "mq_send");
}

static pid_t target(void) { return number("CANARY"); }

ATTACK(signal_kill) { must(kill(target(), SIGKILL), "kill"); }

ATTACK(signal_stop) { must(kill(target(), SIGSTOP), "kill"); }

// SIGURG is ignored by whoever does not ask for it, so that everybody can be sent one.
ATTACK(signal_everybody) { must(kill(-1, SIGURG), "kill"); }

ATTACK(signal_group) { must(kill(-target(), SIGKILL), "kill"); }

ATTACK(signal_thread) { must(syscall(SYS_tgkill, target(), target(), SIGKILL), "tgkill"); }

ATTACK(signal_queue) {
    siginfo_t info = {.si_signo = SIGKILL, .si_code = SI_QUEUE};
    must(syscall(SYS_rt_sigqueueinfo, target(), SIGKILL, &info), "rt_sigqueueinfo");
}

// The kernel sends the signal for us, when a pipe of ours becomes readable.
ATTACK(signal_by_owner) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    must(fcntl(ends[0], F_SETSIG, SIGKILL), "F_SETSIG");
    must(fcntl(ends[0], F_SETOWN, target()), "F_SETOWN");
    must(fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK), "F_SETFL");
    must(write(ends[1], "x", 1), "write");
    pause_ms(20);
}

static int pidfd(void) { return must(syscall(SYS_pidfd_open, target(), 0), "pidfd_open"); }

ATTACK(pidfd_signal) { must(syscall(SYS_pidfd_send_signal, pidfd(), SIGKILL, NULL, 0), "pidfd_send_signal"); }

ATTACK(pidfd_descriptor) {
    char bytes[64];
    int fd = must(syscall(SYS_pidfd_getfd, pidfd(), CANARY_FD, 0), "pidfd_getfd");
    show_sentinel(bytes, must(pread(fd, bytes, sizeof bytes, 0), "pread"));
}

ATTACK(trace_attach) {
    must(ptrace(PTRACE_ATTACH, target(), NULL, NULL), "PTRACE_ATTACH");
    must(waitpid(target(), NULL, __WALL), "waitpid");
    long words[8];
    for (int i = 0; i < 8; i++) words[i] = ptrace(PTRACE_PEEKDATA, target(), canary_word + i * sizeof *words, NULL);
    ptrace(PTRACE_DETACH, target(), NULL, NULL);
    show_sentinel((char *)words, sizeof words);
}

ATTACK(trace_seize) {
    must(ptrace(PTRACE_SEIZE, target(), NULL, NULL), "PTRACE_SEIZE");
    must(ptrace(PTRACE_INTERRUPT, target(), NULL, NULL), "PTRACE_INTERRUPT");
    must(waitpid(target(), NULL, __WALL), "waitpid");
    must(ptrace(PTRACE_POKEDATA, target(), canary_word, (void *)0x6b63757274736cl), "PTRACE_POKEDATA");
    ptrace(PTRACE_DETACH, target(), NULL, NULL);
}

ATTACK(memory_read) {
    char bytes[sizeof canary_word];
    struct iovec here = {bytes, sizeof bytes}, there = {canary_word, sizeof bytes};
    must(process_vm_readv(target(), &here, 1, &there, 1, 0), "process_vm_readv");
    show_sentinel(bytes, sizeof bytes);
}

ATTACK(memory_write) {
    struct iovec here = {"struck", 7}, there = {canary_word, 7};
    must(process_vm_writev(target(), &here, 1, &there, 1, 0), "process_vm_writev");
}

ATTACK(memory_compare) {
    must(syscall(SYS_kcmp, getpid(), target(), 2 /* KCMP_FILES */, 0, 0), "kcmp");
    worked("the kernel compares our tables with those of a process outside");
}

ATTACK(limit_other) {
    struct rlimit64 limit;
    must(syscall(SYS_prlimit64, target(), RLIMIT_NOFILE, NULL, &limit), "prlimit64");
    limit.rlim_cur = 12;
    must(syscall(SYS_prlimit64, target(), RLIMIT_NOFILE, &limit, NULL), "prlimit64");
}

ATTACK(priority_other) { must(setpriority(PRIO_PROCESS, target(), 19), "setpriority"); }

ATTACK(affinity_other) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    must(sched_setaffinity(target(), sizeof one, &one), "sched_setaffinity");
}

ATTACK(scheduler_other) {
    struct sched_param parameters = {0};
    must(sched_setscheduler(target(), SCHED_IDLE, &parameters), "sched_setscheduler");
}
