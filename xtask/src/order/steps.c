/* steps LOWEST HIGHEST PROGRAM [ARGUMENT...]: runs the first thread of a program one instruction at a time, and prints the
 * addresses between LOWEST and HIGHEST at which it has been, each once, in the order in which it came there. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

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
    if (was_there == NULL || program < 0 || waitpid(program, &status, 0) < 0)
        return 1;
    while (WIFSTOPPED(status)) {
        unsigned long at = ptrace(PTRACE_PEEKUSER, program, offsetof(struct user_regs_struct, rip), 0) - lowest;
        if (at <= highest - lowest && !was_there[at]) {
            was_there[at] = 1;
            printf("%lx\n", at + lowest);
        }
        long signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (ptrace(PTRACE_SINGLESTEP, program, 0, signal) < 0 || waitpid(program, &status, __WALL) < 0)
            return 1;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
