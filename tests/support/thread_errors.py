"""Makes an exception in any thread fail the test that runs. Python only prints
such an exception, so a test whose thread died would pass."""
import socketserver
import sys
import threading
import traceback
import unittest


class ThreadErrors:
    """The exceptions that ended threads of this process."""

    def __init__(self):
        self.lock = threading.Lock()
        self.texts = []

    def record(self, kind, why, trace):
        text = "".join(traceback.format_exception(kind, why, trace))
        with self.lock:
            self.texts.append(text)

    def take(self):
        """The exceptions since the last call, as texts."""
        with self.lock:
            texts, self.texts = self.texts, []
        return texts

    def check(self):
        """Fails the test if a thread ended with an exception."""
        texts = self.take()
        if texts:
            raise AssertionError("an exception in a thread:\n"
                                 + "\n".join(texts))

    def install(self):
        """From now on such an exception fails the test that runs, or the class
        whose fixture runs. This holds for every test case of the process."""
        run, clean = (unittest.TestCase.run,
                      unittest.TestCase.doClassCleanups.__func__)
        serve = socketserver.BaseServer.handle_error

        def run_and_check(case, result=None):
            # The first cleanup that is added is the last one that runs.
            case.addCleanup(self.check)
            return run(case, result)

        def clean_and_check(cls):
            clean(cls)
            try:
                self.check()
            except AssertionError:
                cls.tearDown_exceptions.append(sys.exc_info())

        def handle_error(server, request, address):
            # A client may leave at any time; that is no error of the server.
            if not isinstance(sys.exc_info()[1], OSError):
                self.record(*sys.exc_info())
            serve(server, request, address)

        def hook(failure):
            if failure.exc_type is not SystemExit:
                self.record(failure.exc_type, failure.exc_value,
                            failure.exc_traceback)
            threading.__excepthook__(failure)

        threading.excepthook = hook
        unittest.TestCase.run = run_and_check
        unittest.TestCase.doClassCleanups = classmethod(clean_and_check)
        socketserver.BaseServer.handle_error = handle_error


thread_errors = ThreadErrors()
