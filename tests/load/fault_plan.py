# SPDX-License-Identifier: Apache-2.0
"""Which calls of a counted run are failed, and with what: every one, or of a
kind that is made often the first three, the last and some by chance between.
What is planned is a function of the counts and the seed alone."""
import collections
import random

from fault_errnos import ERRNOS

Case = collections.namedtuple("Case", "story program call nth errno")
FIRST = 3
AGAIN = 8  # lower numbers that are tried where a run made fewer calls


def counted(program, call, given):
    """Whether faults of this kind are made here at all."""
    return (program.startswith("agentnode") and call in ERRNOS
            and program != "agentnode-probe"
            and (not given.program or program in given.program)
            and (not given.call or call in given.call))


def numbers(count, most, picked):
    """The calls of a cell that are failed, of the count that are made; the
    ends first."""
    if not most or count <= most:
        order = list(dict.fromkeys([1, count, *range(2, count)]))
        return [n for n in order if n > 0]
    between = list(range(FIRST + 1, count))
    picked.shuffle(between)  # a smaller `most` takes a part of these
    return [1, count, *range(2, FIRST + 1), *between][:most]


def plan(story, counts, given, table):
    """Cases in the order in which they are run: one of each cell first, and
    of those the cells that no story before had."""
    rounds = collections.defaultdict(list)
    for (program, call), count in sorted(counts.items()):
        if not counted(program, call, given):
            continue
        picked = random.Random(f"{given.seed} {story} {program} {call}")
        most = 0 if story in given.every else given.most
        errnos = [given.errno] if given.errno else ERRNOS[call]
        start = picked.randrange(len(errnos))
        chosen = [given.nth] if given.nth else numbers(count, most, picked)
        # Each errno once where the calls are fewer than they.
        wanted = max(len(chosen), 1 if given.nth else
                     min(len(errnos), most or len(errnos)))
        for place in range(wanted):
            case = Case(story, program, call, chosen[place % len(chosen)],
                        errnos[(start + place) % len(errnos)])
            if not table.has(case):
                rounds[place].append(case)
    order = random.Random(given.seed)
    for place in rounds:
        order.shuffle(rounds[place])
        rounds[place].sort(key=lambda case: table.failed(
            case.program, case.call) > place)
    return [case for place in sorted(rounds) for case in rounds[place]]


def lower(case, taken):
    """The case for a run that made fewer calls than the counted one, or None
    when there is no lower number that nobody took."""
    for nth in range(case.nth - 1, max(0, case.nth - 1 - AGAIN), -1):
        if (nth, case.errno) not in taken:
            return case._replace(nth=nth)
    return None
