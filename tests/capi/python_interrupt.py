"""Ctrl-C ends a launch from Python: starts the example with a kernel that has no end, and interrupts it.

Usage: python_interrupt.py EXAMPLE LIBRARY. Exits with 77 (skipped) where the example does.
"""

import signal
import subprocess
import sys
import time

example, library = sys.argv[1:3]
child = subprocess.Popen([sys.executable, example, library, "--endless"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
first = child.stdout.readline()
if child.poll() == 77 or first.startswith("skipped"):
    sys.exit(77)
assert first == "Ctrl-C ends it\n", first
time.sleep(0.5)
assert child.poll() is None, "the kernel has an end"
child.send_signal(signal.SIGINT)
began = time.monotonic()
try:
    out, err = child.communicate(timeout=60)
except subprocess.TimeoutExpired:
    child.kill()
    sys.exit("Ctrl-C did not end the launch")
assert child.returncode == 130, (child.returncode, out, err)
assert "the launch was stopped: in endless, block (0, 0, 0), thread (0, 0, 0)" in out, out
assert err == "", err
print(f"ended {time.monotonic() - began:.3f} s behind the signal")
