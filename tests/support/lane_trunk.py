"""One end of the trunk between llm-broker and llm-key
(llm-broker/lane_trunk.h): records of all lanes on one socket, sorted out by
a thread, taken lane by lane."""
import select
import socket
import struct
import threading
import time

MAGIC = 0x414e5431
RECORD = struct.Struct("=IIII")
BODY_MAX = DATA_MAX = 16384


class Trunk:
    def __init__(self, sock):
        self.sock, self.told = sock, 0
        self.change = threading.Condition()
        self.writing = threading.Lock()
        self.bytes, self.ended = {}, False
        threading.Thread(target=self._sort, daemon=True).start()

    def _sort(self):
        data = b""
        while True:
            try:
                more = self.sock.recv(1 << 18)
            except OSError:
                more = b""
            data += more
            with self.change:
                while len(data) >= RECORD.size:
                    magic, lane, length, _ = RECORD.unpack_from(data)
                    assert magic == MAGIC, data[:64]
                    if len(data) < RECORD.size + length:
                        break
                    self.bytes[lane] = self.bytes.get(lane, b"") + data[
                        RECORD.size:RECORD.size + length]
                    data = data[RECORD.size + length:]
                self.ended = not more
                self.change.notify_all()
            if not more:
                return

    def record(self, lane, data):
        """All of it in one."""
        with self.writing:
            self.sock.sendall(RECORD.pack(MAGIC, lane, len(data), self.told)
                              + data)

    def put(self, lane, data):
        for at in range(0, len(data), DATA_MAX):
            self.record(lane, data[at:at + DATA_MAX])

    def take(self, lane, count, end, seconds=20):
        """Exactly so many bytes of that lane; None: it (end is its socket)
        or the trunk was closed first."""
        until = time.monotonic() + seconds
        while True:
            gone = closed(end)  # what it said before stands here by now
            with self.change:
                here = self.bytes.get(lane, b"")
                if len(here) >= count:
                    self.bytes[lane] = here[count:]
                    return here[:count]
                if self.ended:
                    return None
                if time.monotonic() > until:
                    raise TimeoutError("nothing came by the trunk")
                if not gone:
                    self.change.wait(0.05)
            if gone:
                time.sleep(0.05)
                with self.change:
                    if len(self.bytes.get(lane, b"")) < count:
                        return None

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


def closed(end):
    """The other side closed it, whatever still stands in it."""
    if end.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(end, select.POLLRDHUP)
    return bool(poll.poll(0))
