"""A workload that does not want to die: many processes that ignore every
signal, leave their session, run at the lowest priority and spin. Prints
"up" when all of them are there. Used inside sandboxes by kill_*.py."""
FIGHTER = r'''
import os, signal, sys, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def idle():
    try: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError: pass
    try: os.nice(19)
    except OSError: pass
for i in range(40):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0: os._exit(0)
        idle()
        if i % 4 == 0:
            while True: pass
        while True:
            if os.fork() == 0: time.sleep(0.05); os._exit(0)
            try: os.waitpid(-1, os.WNOHANG)
            except ChildProcessError: pass
            time.sleep(0.02)
idle()
sys.stdout.write("up\n"); sys.stdout.flush()
while True:
    try: time.sleep(1)
    except Exception: pass
'''
