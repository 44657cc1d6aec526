// Those whom an attack must not reach: a process to strike, and a witness that hears what gets out.
#include "attack.h"
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/un.h>

char canary_word[64] = "untouched";
static volatile sig_atomic_t heard_signal;

static void hear(int signal) {
    (void)signal;
    heard_signal = 1;
}

// The name by which the kernel finds the file without a path, as text.
static void print_handle(const char *path) {
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {.head = {.handle_bytes = 128}};
    int mount;
    if (name_to_handle_at(AT_FDCWD, path, &handle.head, &mount, 0)) return;
    printf("%d:", handle.head.handle_type);
    for (unsigned i = 0; i < handle.head.handle_bytes; i++) printf("%02x", handle.head.f_handle[i]);
}

// Answers each line of its input with what became of it, and what came to its terminal. SIGURG is heard, because it can be
// sent to everybody without harm.
int canary(void) {
    prctl(PR_SET_NAME, "canary");
    setpgid(0, 0);
    if (getenv("HEEDS_EVERYBODY")) signal(SIGURG, hear);
    // A secret that is in nobody else's memory at this address.
    snprintf(canary_word, sizeof canary_word, "%s", given("SECRET"));
    long key = syscall(SYS_add_key, "user", "cycod-escape", canary_word, strlen(canary_word), KEY_SPEC_USER_KEYRING);
    syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, 120);
    must(dup2(must(open("secret", O_RDONLY), "open"), CANARY_FD), "dup2");
    int terminal = must(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), "posix_openpt");
    must(grantpt(terminal) | unlockpt(terminal), "unlockpt");
    int slave = must(open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC), "open the terminal");
    printf("%s ", ptsname(terminal));
    print_handle("secret");
    printf("\n");
    for (char line[16];;) {
        ssize_t length = read(0, line, sizeof line);
        if (length <= 0) return 0;
        char typed[1024];
        length = read(terminal, typed, sizeof typed);
        for (ssize_t i = 0; i < length; i++)
            if (typed[i] == '\n' || typed[i] == '\r') typed[i] = ' ';
        if (length < 0) length = 0;
        printf("%s %.*s\n", heard_signal ? "signalled" : canary_word, (int)length, typed);
    }
    return slave;
}

static int ports[] = {PORT, 80, 53, 443};

static int listener(int type, int port) {
    int fd = must(socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    int off = 0, on = 1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any};
    must(bind(fd, (struct sockaddr *)&address, sizeof address), "bind");
    if (type == SOCK_STREAM) must(listen(fd, 64), "listen");
    return fd;
}

static int unix_listener(int type, const char *path, const char *abstract) {
    int fd = must(socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    if (path) {
        strcpy(address.sun_path, path);
        unlink(path);
    } else {
        strcpy(address.sun_path + 1, abstract);
        length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract);
    }
    must(bind(fd, (struct sockaddr *)&address, length), "bind");
    if (path) chmod(path, 0777);
    if (type == SOCK_STREAM) must(listen(fd, 64), "listen");
    return fd;
}

// Greets who comes by a unix socket with the secret and an open file that holds it.
static void greet(int fd, const char *secret, const char *file) {
    int passed = open(file, O_RDONLY | O_CLOEXEC);
    struct iovec piece = {(void *)secret, strlen(secret)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
    sendmsg(fd, &message, MSG_NOSIGNAL);
    close(passed);
}

// witness SOCKET FILE: writes to its output everything that reaches it, by any of the ways it listens on.
int witness(int argc, char **argv) {
    if (argc < 4) return 2;
    const char *secret = given("SECRET");
    enum { MOST = 256 };
    struct pollfd fds[MOST];
    int kinds[MOST], count = 0; // 0 reads, 1 accepts, 2 accepts and greets, 3 is a message queue
    signal(SIGPIPE, SIG_IGN);
#define WATCH(fd_, kind_) (kinds[count] = (kind_), fds[count++] = (struct pollfd){(fd_), POLLIN, 0})
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; i++) {
        WATCH(listener(SOCK_STREAM, ports[i]), 1);
        WATCH(listener(SOCK_DGRAM, ports[i]), 0);
    }
    int mptcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 262);
    struct sockaddr_in mptcp_address = {.sin_family = AF_INET, .sin_port = htons(7778)};
    if (mptcp >= 0 && bind(mptcp, (struct sockaddr *)&mptcp_address, sizeof mptcp_address) == 0) {
        listen(mptcp, 64);
        WATCH(mptcp, 1);
    }
    int lite = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 136);
    struct sockaddr_in lite_address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (lite >= 0 && bind(lite, (struct sockaddr *)&lite_address, sizeof lite_address) == 0) WATCH(lite, 0);
    char path[PATH_MAX];
    WATCH(unix_listener(SOCK_STREAM, argv[2], NULL), 2);
    snprintf(path, sizeof path, "%s.datagram", argv[2]);
    WATCH(unix_listener(SOCK_DGRAM, path, NULL), 0);
    WATCH(unix_listener(SOCK_STREAM, NULL, "cycod-escape"), 2);
    WATCH(unix_listener(SOCK_DGRAM, NULL, "cycod-escape.datagram"), 0);
    WATCH(SOCKET_FD, 0);
    umask(0);
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 256};
    mqd_t queue = mq_open("/cycod-escape", O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666, &attributes);
    if (queue >= 0) WATCH(queue, 3);
    int messages = msgget(PORT, IPC_CREAT | 0666);
    int segment = shmget(PORT, 4096, IPC_CREAT | 0666);
    char *memory = segment < 0 ? (char *)-1 : shmat(segment, NULL, 0);
    if (memory != (char *)-1) strcpy(memory, secret);
    int shm = shm_open("/cycod-escape-secret", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (shm >= 0 && write(shm, secret, strlen(secret)) < 0) return 2;
    printf("ready\n");
    for (;;) {
        poll(fds, count, 10);
        struct {
            long kind;
            char text[1024];
        } message;
        ssize_t length = messages < 0 ? -1 : msgrcv(messages, &message, sizeof message.text - 1, 0, IPC_NOWAIT);
        if (length > 0) printf("%.*s\n", (int)length, message.text);
        for (int i = 0; i < count; i++) {
            if (fds[i].fd < 0 || !fds[i].revents) continue;
            char bytes[2048];
            if (kinds[i] == 1 || kinds[i] == 2) {
                int fd = accept4(fds[i].fd, NULL, NULL, SOCK_CLOEXEC);
                if (fd < 0) continue;
                if (kinds[i] == 2) greet(fd, secret, argv[3]);
                int slot = 0;
                while (slot < count && fds[slot].fd >= 0) slot++;
                if (slot == MOST) close(fd);
                else if (slot == count) WATCH(fd, 0);
                else kinds[slot] = 0, fds[slot] = (struct pollfd){fd, POLLIN, 0};
                continue;
            }
            length = kinds[i] == 3 ? mq_receive(fds[i].fd, bytes, sizeof bytes, NULL)
                                   : recv(fds[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
            // Whatever it is, zero bytes too.
            if (length > 0 && (write(1, bytes, length) < 0 || write(1, "\n", 1) < 0)) return 2;
            if (length > 4 && (!memcmp(bytes, "GET ", 4) || !memcmp(bytes, "POST", 4))) {
                static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nwelcome";
                send(fds[i].fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
            }
            int type = 0;
            socklen_t size = sizeof type;
            // Only the end of a stream is an end; an empty datagram is not.
            if (length <= 0 && kinds[i] == 0 && errno != EAGAIN &&
                getsockopt(fds[i].fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
                fds[i].fd != SOCKET_FD) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
            errno = 0;
        }
    }
}
