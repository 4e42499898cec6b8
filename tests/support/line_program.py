"""A program that reads questions and writes answers, each a line of JSON."""
import json
import subprocess


class LineProgram:
    def __init__(self, program):
        self.program = program
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def ask(self, one):
        print(json.dumps(one), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.program} ended over {json.dumps(one)}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
