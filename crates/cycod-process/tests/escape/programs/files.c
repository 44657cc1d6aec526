// Reaching files that were not granted.
#include "attack.h"
#include <pthread.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/xattr.h>

ATTACK(read_absolute) { show_path(below("OUTSIDE", "secret")); }

ATTACK(read_dotdot) { show_path(below("GRANTED", "../outside/secret")); }

ATTACK(read_dotdot_from_root) {
    char path[PATH_MAX] = "";
    for (int i = 0; i < 40; i++) strcat(path, "../");
    strcat(path, given("OUTSIDE") + 1);
    strcat(path, "/secret");
    show_path(path);
}

ATTACK(read_symlink) {
    must(symlink(below("OUTSIDE", "secret"), below("GRANTED", "link")), "symlink");
    show_path(below("GRANTED", "link"));
}

// Each link of the chain steps through `..` again.
ATTACK(read_symlink_chain) {
    must(symlink("../outside", below("GRANTED", "l0")), "symlink");
    for (int i = 1; i < 20; i++) {
        char target[64];
        snprintf(target, sizeof target, "../granted/l%d", i - 1);
        must(symlink(target, below("GRANTED", "l%d", i)), "symlink");
    }
    show_path(below("GRANTED", "l19/secret"));
}

// The link lies where reading is granted, and somebody else made it.
ATTACK(read_symlink_in_grant) { show_path(below("READABLE", "way-out/secret")); }

ATTACK(read_hard_link) {
    must(link(below("OUTSIDE", "secret"), below("GRANTED", "hard")), "link");
    show_path(below("GRANTED", "hard"));
}

ATTACK(read_from_root_directory) {
    int root = must(open("/", O_PATH | O_DIRECTORY), "open /");
    show(must(openat(root, below("OUTSIDE", "secret") + 1, O_RDONLY), "openat"));
}

ATTACK(read_directory_names) {
    DIR *directory = opendir(given("OUTSIDE"));
    if (!directory) failed("opendir");
    for (struct dirent *entry; (entry = readdir(directory));) printf("%s\n", entry->d_name);
}

ATTACK(read_mapped) {
    int fd = must(open(below("OUTSIDE", "secret"), O_RDONLY), "open");
    char *bytes = mmap(NULL, 64, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) failed("mmap");
    show_sentinel(bytes, 64);
}

ATTACK(read_home_ssh_key) { show_path(below("HOME", ".ssh/id_ed25519")); }

ATTACK(read_home_cloud_credentials) { show_path(below("HOME", ".aws/credentials")); }

ATTACK(read_shadow) {
    show(must(open("/etc/shadow", O_RDONLY), "open /etc/shadow"));
    worked("/etc/shadow can be read");
}

// A link is exchanged for a directory as fast as it goes, while the path is opened.
static volatile int racing = 1;
static void *exchange(void *unused) {
    char *a = below("GRANTED", "race"), *b = below("GRANTED", "race-link");
    while (racing) syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */);
    return unused;
}

static void race(int flags, void (*then)(int)) {
    must(mkdir(below("GRANTED", "race"), 0777), "mkdir");
    put(below("GRANTED", "race/secret"), O_CREAT, "mine");
    put(below("GRANTED", "race/victim"), O_CREAT, "mine");
    must(symlink(given("OUTSIDE"), below("GRANTED", "race-link")), "symlink");
    pthread_t thread;
    pthread_create(&thread, NULL, exchange, NULL);
    char *path = below("GRANTED", flags == O_RDONLY ? "race/secret" : "race/victim");
    for (long long end = now_ms() + number("PATIENCE"); now_ms() < end;) {
        int fd = open(path, flags);
        if (fd >= 0) {
            then(fd);
            close(fd);
        }
    }
    racing = 0;
    pthread_join(thread, NULL);
}

static void show_if_secret(int fd) {
    char bytes[64];
    ssize_t length = read(fd, bytes, sizeof bytes);
    if (length > 0 && show_sentinel(bytes, length)) exit(0);
}

static void write_nonce(int fd) {
    struct stat there, outside;
    if (write(fd, given("NONCE"), strlen(given("NONCE"))) < 0 || fstat(fd, &there)) return;
    if (stat(below("OUTSIDE", "victim"), &outside) == 0 && there.st_ino == outside.st_ino) exit(0);
}

ATTACK(read_symlink_race) { race(O_RDONLY, show_if_secret); }

ATTACK(write_symlink_race) { race(O_WRONLY, write_nonce); }

// An accomplice outside moves the directory we stand in out of the granted one; from there `..` may lead on.
ATTACK(read_above_moved_directory) {
    must(mkdir(below("GRANTED", "deep"), 0777), "mkdir");
    must(chdir(below("GRANTED", "deep")), "chdir");
    put(below("GRANTED", "ready"), O_CREAT, "ready");
    for (long long end = now_ms() + 2000; now_ms() < end; pause_ms(2)) {
        if (access(below("GRANTED", "moved"), F_OK) != 0) continue;
        show_path("../secret");
        return;
    }
}

// The granted directory was replaced by a link to the outside between the decision and the start.
ATTACK(write_swapped_grant) { put(below("GRANTED", "victim"), O_TRUNC, given("NONCE")); }

ATTACK(write_swapped_grant_racing) { put(below("GRANTED", "victim"), O_TRUNC, given("NONCE")); }

ATTACK(read_swapped_grant) { show_path(below("READABLE", "secret")); }

ATTACK(probe_existence) {
    struct stat status;
    if (stat(below("OUTSIDE", "secret"), &status) == 0) worked("it has %lld bytes", (long long)status.st_size);
    else if (errno == EACCES) worked("it exists, the kernel says so");
    else failed("stat");
}

ATTACK(watch_inotify) {
    int fd = must(inotify_init1(IN_CLOEXEC), "inotify_init1");
    must(inotify_add_watch(fd, given("OUTSIDE"), IN_ALL_EVENTS), "inotify_add_watch");
    worked("what happens outside is told");
}

ATTACK(watch_fanotify) {
    int fd = must(fanotify_init(FAN_CLASS_NOTIF, O_RDONLY), "fanotify_init");
    must(fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN, AT_FDCWD, "/"), "fanotify_mark");
    worked("every opening on the file system is told");
}

ATTACK(write_absolute) { put(below("OUTSIDE", "victim"), O_TRUNC, given("NONCE")); }

ATTACK(write_append) { put(below("OUTSIDE", "victim"), O_APPEND, given("NONCE")); }

ATTACK(write_symlink) {
    must(symlink("../outside/victim", below("GRANTED", "link")), "symlink");
    put(below("GRANTED", "link"), O_TRUNC, given("NONCE"));
}

ATTACK(write_hard_link) {
    must(link(below("OUTSIDE", "victim"), below("GRANTED", "hard")), "link");
    put(below("GRANTED", "hard"), O_TRUNC, given("NONCE"));
}

ATTACK(write_read_only_grant) { put(below("READABLE", "file"), O_TRUNC, given("NONCE")); }

ATTACK(create_in_read_only_grant) { put(below("READABLE", "new"), O_CREAT, given("NONCE")); }

ATTACK(write_home_profile) { put(below("HOME", ".bashrc"), O_APPEND, given("NONCE")); }

ATTACK(truncate_path) { must(truncate(below("OUTSIDE", "victim"), 0), "truncate"); }

ATTACK(create_file) { put(below("OUTSIDE", "new"), O_CREAT | O_EXCL, given("NONCE")); }

ATTACK(create_directory) { must(mkdir(below("OUTSIDE", "new"), 0777), "mkdir"); }

ATTACK(create_fifo) { must(mkfifo(below("OUTSIDE", "new"), 0666), "mkfifo"); }

ATTACK(create_symlink) { must(symlink("/", below("OUTSIDE", "new")), "symlink"); }

ATTACK(create_unnamed_and_link) {
    int fd = must(open(given("OUTSIDE"), O_TMPFILE | O_WRONLY, 0666), "open O_TMPFILE");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    must(linkat(AT_FDCWD, path, AT_FDCWD, below("OUTSIDE", "new"), AT_SYMLINK_FOLLOW), "linkat");
}

ATTACK(remove_file) { must(unlink(below("OUTSIDE", "victim")), "unlink"); }

ATTACK(remove_directory) { must(rmdir(below("OUTSIDE", "empty")), "rmdir"); }

ATTACK(rename_in) { must(rename(below("OUTSIDE", "victim"), below("GRANTED", "taken")), "rename"); }

ATTACK(rename_out) {
    put(below("GRANTED", "planted"), O_CREAT, given("NONCE"));
    must(rename(below("GRANTED", "planted"), below("OUTSIDE", "planted")), "rename");
}

ATTACK(rename_exchange) {
    put(below("GRANTED", "mine"), O_CREAT, given("NONCE"));
    must(syscall(SYS_renameat2, AT_FDCWD, below("GRANTED", "mine"), AT_FDCWD, below("OUTSIDE", "victim"), 2), "renameat2");
}

ATTACK(rename_grant) { must(rename(given("GRANTED"), below("BASE", "elsewhere/mine")), "rename"); }

ATTACK(replace_grant) {
    must(rename(given("GRANTED"), below("BASE", "elsewhere/mine")), "rename");
    must(symlink(given("OUTSIDE"), given("GRANTED")), "symlink");
    put(below("GRANTED", "victim"), O_TRUNC, given("NONCE"));
}

ATTACK(change_mode) { must(chmod(below("OUTSIDE", "victim"), 0777), "chmod"); }

ATTACK(change_owner) { must(chown(below("OUTSIDE", "victim"), getuid(), getgid()), "chown"); }

ATTACK(change_times) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    must(utimensat(AT_FDCWD, below("OUTSIDE", "victim"), times, 0), "utimensat");
}

ATTACK(change_attribute) {
    must(setxattr(below("OUTSIDE", "victim"), "user.escape", "yes", 3, 0), "setxattr");
}

ATTACK(change_access_list) {
    // Version 2: the owner, one user by number, the group, the mask, the others.
    struct {
        uint32_t version;
        struct {
            uint16_t tag, permissions;
            uint32_t id;
        } entries[5];
    } list = {2, {{1, 6, -1}, {2, 7, getuid()}, {4, 6, -1}, {16, 7, -1}, {32, 4, -1}}};
    must(setxattr(below("OUTSIDE", "victim"), "system.posix_acl_access", &list, sizeof list, 0), "setxattr");
}

ATTACK(change_mode_of_read_only_grant) { must(chmod(below("READABLE", "file"), 0777), "chmod"); }

static void copy_self(const char *to) {
    static char bytes[4 << 20];
    int in = must(open("/proc/self/exe", O_RDONLY), "open /proc/self/exe");
    int out = must(open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755), "open");
    for (ssize_t length; (length = must(read(in, bytes, sizeof bytes), "read")) > 0;) must(write(out, bytes, length), "write");
    close(out);
}

ATTACK(executed) { worked("a program that the attack brought along runs"); }

static void execute(const char *path) {
    execl(path, "attack", "executed", (char *)NULL);
    failed("execl");
}

// Write does not imply execute.
ATTACK(execute_written) {
    copy_self(below("GRANTED", "program"));
    execute(below("GRANTED", "program"));
}

// Nor does read.
ATTACK(execute_readable) { execute(below("READABLE", "program")); }

ATTACK(execute_outside) { execute(below("OUTSIDE", "program")); }

// Whoever runs it afterwards has the rights of who wrote it.
static void check_setuid(void) {
    struct stat status;
    must(stat(below("GRANTED", "program"), &status), "stat");
    if (status.st_mode & (S_ISUID | S_ISGID)) worked("a program with our rights lies there for everybody");
    else failed("the mode");
}

ATTACK(setuid_by_chmod) {
    put(below("GRANTED", "program"), O_CREAT, "x");
    if (chmod(below("GRANTED", "program"), 04755) && syscall(452 /* fchmodat2 */, AT_FDCWD, below("GRANTED", "program"), 06755, 0))
        failed("chmod");
    check_setuid();
}

ATTACK(setuid_by_creation) {
    umask(0);
    if (open(below("GRANTED", "program"), O_CREAT | O_WRONLY, 04755) < 0)
        must(mknod(below("GRANTED", "program"), S_IFREG | 04755, 0), "mknod");
    check_setuid();
}
