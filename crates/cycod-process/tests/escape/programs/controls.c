// What a confined program may do; a confinement that allowed nothing would hold every attack.
#include "attack.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

ATTACK(may_write_where_granted) {
    put(below("GRANTED", "file"), O_CREAT | O_EXCL, "mine");
    must(rename(below("GRANTED", "file"), below("GRANTED", "renamed")), "rename");
    must(chmod(below("GRANTED", "renamed"), 0600), "chmod");
    must(mkdir(below("GRANTED", "directory"), 0777), "mkdir");
    must(symlink("renamed", below("GRANTED", "directory/link")), "symlink");
    must(link(below("GRANTED", "renamed"), below("GRANTED", "directory/hard")), "link");
    must(rename(below("GRANTED", "directory/hard"), below("GRANTED", "hard")), "rename");
    must(truncate(below("GRANTED", "hard"), 1), "truncate");
    must(unlink(below("GRANTED", "hard")), "unlink");
    worked("files, directories and links");
}

ATTACK(may_read_where_granted) {
    show_path(below("READABLE", "file"));
    DIR *directory = opendir(given("READABLE"));
    if (!directory || !readdir(directory)) failed("opendir");
    worked("a file and its directory");
}

ATTACK(may_use_temporary_files) {
    put("/tmp/mine", O_CREAT | O_EXCL, "mine");
    show_path("/tmp/mine");
    must(unlink("/tmp/mine"), "unlink");
    worked("a file that is gone with the run");
}

ATTACK(may_run_the_system) {
    int status = system("test \"$(printf a | cat)\" = a && ls /usr/bin >/dev/null");
    if (status == 0) worked("a shell, a pipe, a program");
    else printf("failed: the shell ends with %d\n", status);
}

static void *answer(void *unused) { return unused; }

ATTACK(may_have_children_and_threads) {
    pthread_t thread;
    if ((errno = pthread_create(&thread, NULL, answer, NULL))) failed("pthread_create");
    pthread_join(thread, NULL);
    pid_t child = must(fork(), "fork");
    if (child == 0) {
        setsid();
        pause();
    }
    must(kill(child, SIGTERM), "kill");
    if (WTERMSIG(reap(child)) == SIGTERM) worked("a thread, a child, a signal");
}

ATTACK(may_see_itself) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", getpid());
    show_path(path);
    show_path("/proc/self/cmdline");
    must(access("/proc/self/fd/1", F_OK), "/proc/self/fd");
    worked("its own entry in /proc");
}

ATTACK(may_use_devices) {
    char byte;
    must(read(must(open("/dev/urandom", O_RDONLY), "open /dev/urandom"), &byte, 1), "read");
    must(read(must(open("/dev/zero", O_RDONLY), "open /dev/zero"), &byte, 1), "read");
    put("/dev/null", 0, "nothing");
    worked("the devices without power");
}

ATTACK(may_talk_with_itself) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    must(eventfd(0, 0), "eventfd");
    must(epoll_create1(0), "epoll_create1");
    must(memfd_create("memory", 0), "memfd_create");
    int watch = must(inotify_init1(0), "inotify_init1");
    must(inotify_add_watch(watch, given("GRANTED"), IN_CREATE), "inotify_add_watch");
    worked("sockets, events, memory and watches of its own");
}

ATTACK(may_compile_to_memory) {
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) failed("mmap");
    code[0] = 0xc3;
    must(mprotect(code, 4096, PROT_READ | PROT_EXEC), "mprotect");
    ((void (*)(void))code)();
    worked("code of its own, as language runtimes have it");
}
