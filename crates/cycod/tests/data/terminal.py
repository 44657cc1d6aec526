"""Runs a program on a terminal of its own and plays the person: terminal.py COLUMNS SCRIPT PROGRAM...

SCRIPT is a list of [what to wait for, what to type]. Typing "<out" as the first entry's text sends standard output to a file of
that name. What is typed before the program listens is lost, on a busy machine too; so it is typed again when nothing is
shown for it. What the terminal showed is printed, and how the program ended.
"""

import fcntl, json, os, pty, select, struct, sys, termios, time

columns, script, program = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    time.sleep(0.05)
    os.execvp(program[0], program)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
shown, seen, until = "", 0, time.time() + 60
while time.time() < until:
    if script and script[0][0] in shown[seen:]:
        wait, text = script.pop(0)
        seen = shown.index(wait, seen) + len(wait)
        time.sleep(0.4)
        os.write(terminal, text.encode())
        while text and time.time() < until and not select.select([terminal], [], [], 5)[0]:
            os.write(terminal, text.encode())
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            shown += os.read(terminal, 4096).decode(errors="replace")
        except OSError:
            break
else:
    os.kill(child, 9)
_, status = os.waitpid(child, 0)
print(shown.replace("\r\n", "\n"))
print("exit", os.waitstatus_to_exitcode(status), "left", len(script))
