"""A D-Bus session of a test's own with the real gnome-keyring: private home,
runtime folder and bus. Nothing of the machine's own session is used, and only
processes that were started here are ended."""
import os
import shutil
import signal
import subprocess
import time

import harness

PASSWORD = b"of-the-login-keyring"


class Session:
    """The bus and, once unlock() or lock() is called, the keychain."""

    def __init__(self):
        harness.need("dbus-daemon", "gnome-keyring-daemon", "secret-tool")
        self.home = harness.folder()
        self.run = harness.folder("agentnode-run-")
        self.bus = None
        self.daemon = None
        self.address = ""
        self.start_bus()

    def environment(self):
        """For what belongs to the session itself."""
        return {"PATH": os.environ["PATH"], "HOME": self.home,
                "XDG_RUNTIME_DIR": self.run, "LANG": "C.UTF-8",
                "XDG_DATA_HOME": os.path.join(self.home, ".local/share"),
                "DBUS_SESSION_BUS_ADDRESS": self.address}

    def agent(self):
        """What agentnode is told of it."""
        return {"DBUS_SESSION_BUS_ADDRESS": self.address,
                "XDG_RUNTIME_DIR": self.run}

    def start_bus(self):
        # No activation: what is not started here does not start.
        config = os.path.join(self.run, "bus.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(
                '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus '
                'Configuration 1.0//EN" "http://www.freedesktop.org/'
                'standards/dbus/1.0/busconfig.dtd">\n<busconfig>'
                f"<type>session</type><listen>unix:path={self.run}/bus"
                '</listen><auth>EXTERNAL</auth><policy context="default">'
                '<allow send_destination="*" eavesdrop="true"/>'
                '<allow eavesdrop="true"/><allow own="*"/></policy>'
                "</busconfig>\n")
        self.bus = subprocess.Popen(
            ["dbus-daemon", "--config-file", config, "--nofork",
             "--nopidfile", "--print-address=1"], env=self.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.bus.stdout.readline().strip()

    def start(self, password=PASSWORD):
        """The keychain, unlocked with its password (the first one makes the
        login keyring); None leaves it locked."""
        argv = ["gnome-keyring-daemon", "--foreground",
                "--components=secrets"]
        if password is not None:
            argv.insert(1, "--unlock")
        self.daemon = subprocess.Popen(
            argv, env=self.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if password is not None:
            self.daemon.stdin.write(password)
        self.daemon.stdin.close()
        return harness.wait_until(self.is_there, 10)

    def is_there(self):
        done = subprocess.run(
            ["dbus-send", "--session", "--print-reply",
             "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
             "org.freedesktop.DBus.NameHasOwner",
             "string:org.freedesktop.secrets"], env=self.environment(),
            capture_output=True, text=True, timeout=10)
        return "boolean true" in done.stdout

    def stop(self):
        """The keychain ends; its files stay."""
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(10)
            self.daemon = None
            harness.wait_until(lambda: not self.is_there(), 5)

    def freeze(self, on):
        """A keychain that is there and never answers."""
        self.daemon.send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def tool(self, *argv, stdin=None):
        """secret-tool: what is really in the keychain."""
        return harness.run("secret-tool", *argv, env=self.environment(),
                           stdin=stdin, timeout=20)

    def close(self):
        self.stop()
        if self.bus is not None:
            self.bus.kill()
            self.bus.wait(10)
            self.bus = None
        shutil.rmtree(self.home, ignore_errors=True)
        time.sleep(0)
