"""Uploads that never end: requests with a body of which the last byte is not
sent."""
import ssl


class Upload:
    """plug: a connection. head: the request without its body, which has
    `length` bytes."""

    def __init__(self, plug, head, length):
        plug.setblocking(False)
        self.plug = plug
        self.rest = memoryview(head + b" " * (length - 1))

    def push(self):
        """Sends as much as the server takes now; how much that was."""
        before = len(self.rest)
        try:
            while self.rest:
                self.rest = self.rest[self.plug.send(self.rest):]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass  # the server takes no more for now
        except OSError:
            self.rest = self.rest[:0]  # the server has closed the connection
        return before - len(self.rest)


def push_all(uploads, honest):
    """Sends until the server has taken no more between two requests of another
    client, for which honest() is called."""
    while sum(upload.push() for upload in uploads):
        honest()
