"""What is in an aggregator's database, held against the agents' last words."""
import re
import sqlite3

STOPPED = re.compile(r'"stopped" run="(\w+)" reports=(\d+) '
                     r'not_stored=(\d+) dropped=(\d+)')


def stored_seqs(db):
    """(node, run) -> the seqs in the database, in order, duplicates too."""
    found = {}
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        for name, run, seq in connection.execute(
                "SELECT name, hex(run_id), seq FROM report JOIN node"
                " ON node.id = report.node ORDER BY name, run_id, seq"):
            found.setdefault((name, run.lower()), []).append(seq)
    connection.close()
    return found


def runs_of(program):
    """run -> how many reports it made, from the last words of each."""
    return {run: (int(made), int(left), int(dropped)) for
            run, made, left, dropped in STOPPED.findall(program.log())}


def assert_complete(case, aggregator, agents):
    """Every report of every run is there exactly once."""
    stored = stored_seqs(aggregator.db)
    for program in agents:
        name = program.name.removeprefix("agent-")
        runs = runs_of(program)
        case.assertTrue(runs, program.log()[-2000:])
        for run, (made, left, dropped) in runs.items():
            case.assertEqual((left, dropped), (0, 0), program.log())
            case.assertEqual(stored.pop((name, run)),
                             list(range(1, made + 1)))
    case.assertEqual(stored, {})
