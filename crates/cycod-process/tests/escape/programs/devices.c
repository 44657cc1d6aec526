// Devices, and the kernel's switches in /sys.
#include "attack.h"
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

// The kernel's log, by a device file that the attack makes itself; a disk is made the same way.
ATTACK(device_made) {
    must(mknod(below("GRANTED", "device"), S_IFCHR | 0600, makedev(1, 11)), "mknod");
    char bytes[8192];
    int fd = must(open(below("GRANTED", "device"), O_RDONLY | O_NONBLOCK), "open");
    must(read(fd, bytes, sizeof bytes), "read");
    worked("a device opens by a file of its own");
}

ATTACK(device_kernel_log_write) {
    char line[128];
    snprintf(line, sizeof line, "%s\n", given("NONCE"));
    put("/dev/kmsg", 0, line);
}

ATTACK(device_kernel_log_read) {
    char bytes[8192];
    int fd = open_if_here("/dev/kmsg", O_RDONLY | O_NONBLOCK);
    must(read(fd, bytes, sizeof bytes), "read");
    worked("the kernel's log can be read");
}

static void open_device(const char *path, int flags) {
    open_if_here(path, flags);
    worked("%s opens", path);
}

ATTACK(device_loop) { open_device("/dev/loop-control", O_RDWR); }

ATTACK(device_fuse) { open_device("/dev/fuse", O_RDWR); }

ATTACK(device_virtual_machine) { open_device("/dev/kvm", O_RDWR); }

ATTACK(device_console) { open_device("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK); }

ATTACK(device_tunnel) {
    int fd = open_if_here("/dev/net/tun", O_RDWR);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    must(ioctl(fd, TUNSETIFF, &request), "TUNSETIFF");
    worked("a network interface was made");
}

// Text on the terminal of a person, which can be made to look like ours.
ATTACK(terminal_write) { put(given("TTY"), O_NOCTTY, given("NONCE")); }

// Typing for the person at the terminal.
ATTACK(terminal_type) {
    if (fork() == 0) {
        setsid();
        int fd = must(open(given("TTY"), O_RDWR), "open the terminal");
        signal(SIGHUP, SIG_IGN);
        ioctl(fd, TIOCSCTTY, 1);
        for (const char *at = given("NONCE"); *at; at++) must(ioctl(fd, TIOCSTI, at), "TIOCSTI");
        pause_ms(100);
        exit(0);
    }
    wait(NULL);
}

ATTACK(shared_memory_file_write) {
    char path[128];
    snprintf(path, sizeof path, "/dev/shm/%s", given("NONCE"));
    put(path, O_CREAT, "here");
}

ATTACK(shared_memory_file_read) { show_path("/dev/shm/cycod-escape-secret"); }

ATTACK(sys_write) {
    char bytes[256] = {0}, chosen[64] = {0};
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    int fd = open_if_here(path, O_RDWR);
    must(read(fd, bytes, sizeof bytes - 1), "read");
    // What is set already, so that nothing changes.
    sscanf(strchr(bytes, '['), "[%60[a-z]", chosen);
    must(pwrite(fd, chosen, strlen(chosen), 0), "write");
    worked("the kernel's switches can be set");
}

static const char *groups[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"};

ATTACK(cgroup_make) {
    for (unsigned i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", groups[i], given("NONCE"));
        if (mkdir(path, 0777) == 0) return;
    }
    failed("mkdir");
}

// Out of the group that bounds us, into the topmost.
ATTACK(cgroup_leave) {
    for (unsigned i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/cgroup.procs", groups[i]);
        int fd = open(path, O_WRONLY);
        if (fd >= 0 && write(fd, "0", 1) == 1) {
            worked("the process left its control group");
            return;
        }
    }
    failed("write");
}

// The first half of a well-known way out: a control group of its own whose release agent the kernel runs outside.
ATTACK(cgroup_mount) {
    must(mkdir(below("GRANTED", "groups"), 0777), "mkdir");
    must(unshare(CLONE_NEWNS), "unshare");
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (mount("cgroup", below("GRANTED", "groups"), "cgroup", 0, "memory"))
        must(mount("cgroup", below("GRANTED", "groups"), "cgroup2", 0, NULL), "mount");
    worked("control groups are mounted");
}

ATTACK(tracing) {
    char bytes[64];
    int fd = open("/sys/kernel/tracing/trace", O_RDONLY);
    if (fd < 0) {
        // Nobody has mounted it yet.
        const char *place = below("GRANTED", "tracing");
        must(mkdir(place, 0777), "mkdir");
        must(unshare(CLONE_NEWNS), "unshare");
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (mount("tracefs", place, "tracefs", 0, NULL)) {
            if (errno == ENODEV) absent("tracing");
            failed("mount");
        }
        fd = must(open(below("GRANTED", "tracing/trace"), O_RDONLY), "open trace");
    }
    must(read(fd, bytes, sizeof bytes), "read");
    worked("the kernel can be traced");
}
