/* steps LOWEST HIGHEST PROGRAM [ARGUMENT...]: runs a program one instruction at a time, and prints the addresses between
 * LOWEST and HIGHEST at which it has been, each once, in the order in which it came there. Threads and children count until
 * they run another program. What the program prints goes to standard error. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 1 << 22 };
static unsigned char is_followed[MOST_PROCESSES + 1];

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: steps LOWEST HIGHEST PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    unsigned long lowest = strtoul(arguments[1], NULL, 16), highest = strtoul(arguments[2], NULL, 16);
    unsigned char *was_there = calloc(highest - lowest + 1, 1);
    pid_t program = fork();
    if (program == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        /* What the program prints must not mix with the addresses. */
        if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
            execv(arguments[3], arguments + 3);
        _exit(127);
    }
    int status = 0;
    if (was_there == NULL || program < 0 || waitpid(program, &status, 0) < 0 || !WIFSTOPPED(status))
        return 1;
    long births = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (ptrace(PTRACE_SETOPTIONS, program, 0, births | PTRACE_O_TRACEEXEC) < 0)
        return 1;
    for (pid_t at_stop = program;;) {
        if (WIFSTOPPED(status)) {
            long signal = WSTOPSIG(status);
            unsigned event = (unsigned)status >> 16;
            /* One that begins stops by itself. */
            if (signal == SIGTRAP || !is_followed[at_stop])
                signal = 0;
            unsigned long address = ptrace(PTRACE_PEEKUSER, at_stop, offsetof(struct user_regs_struct, rip), 0) - lowest;
            if (address <= highest - lowest && !was_there[address]) {
                was_there[address] = 1;
                printf("%lx\n", address + lowest);
            }
            /* One that was killed meanwhile can't be told to go on, and its end is the next that comes of it. */
            int goes_on = event != PTRACE_EVENT_EXEC;
            ptrace(goes_on ? PTRACE_SINGLESTEP : PTRACE_DETACH, at_stop, 0, signal);
            is_followed[at_stop] = goes_on;
        } else {
            is_followed[at_stop] = 0;
            if (at_stop == program)
                return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
        }
        at_stop = waitpid(-1, &status, __WALL);
        if (at_stop < 0)
            return 1;
    }
}
