"""What each step of a gate took: reads lines "WALL USER SYSTEM STEP", in seconds, prints a table, and fails where the sum
of CPU seconds is above --most."""

import argparse
import pathlib
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wall", type=int, required=True, help="seconds of the whole gate")
    parser.add_argument("--most", type=int, required=True, help="CPU seconds of the whole gate, at most")
    parser.add_argument("--budget", type=pathlib.Path, help='a file of lines "CPU_SECONDS STEP"')
    args = parser.parse_args()
    budget = {}
    for line in args.budget.read_text(encoding="utf-8").splitlines() if args.budget else []:
        if line and not line.startswith("#"):
            seconds, step = line.split(maxsplit=1)
            budget[step] = int(seconds)
    took = []
    for line in sys.stdin:
        wall, user, system, step = line.rstrip("\n").split(" ", 3)
        took.append((float(wall), float(user) + float(system), step))
    took.sort(key=lambda step: -step[1])
    print("\n  wall s   CPU s  of     step")
    for wall, cpu, step in took:
        print(f"{wall:8.0f}{cpu:8.0f}  {budget.get(step, '-'):<6} {step}")
    cpu_all = sum(cpu for _, cpu, _ in took)
    print(f"{args.wall:8}{cpu_all:8.0f}  {args.most:<6} in all")
    unknown = set(budget) - {step for _, _, step in took}
    if unknown:
        sys.exit(f"steps: {args.budget} has steps that were not run: {', '.join(sorted(unknown))}")
    if cpu_all > args.most:
        growth, step = max((cpu - budget.get(step, 0), step) for _, cpu, step in took)
        sys.exit(f"steps: {cpu_all:.0f} CPU seconds, of at most {args.most}; most grew, by {growth:.0f}: {step}")


main()
