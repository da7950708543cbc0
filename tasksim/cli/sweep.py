"""``tasksim sweep``: a scenario over ranges of its keys, on all cores."""

import argparse
import sys
from pathlib import Path
from typing import Any

from tasksim.cli.arguments import add_force, add_scenario, positive
from tasksim.cli.progress import counting


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("sweep", help="run a scenario over ranges of its keys")
    add_scenario(parser)
    parser.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="KEY=RANGE",
        help="1:60:log12, 10:100:lin10, or values between commas; may be given several times",
    )
    parser.add_argument("--replications", type=positive, default=5, metavar="N")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=positive, metavar="N", help="processes; all cores if absent")
    where.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="of a Dask scheduler, such as tcp://10.0.0.5:8786; it does the work. Only a cluster "
        "that you trust: what Dask exchanges with it can run any code",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="tables, figure, and finished points"
    )
    add_force(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Run what is not there yet, print and write the table."""
    from tasksim.planning.clusters import require_cluster  # noqa: PLC0415
    from tasksim.planning.provenance import versions  # noqa: PLC0415
    from tasksim.planning.sweep import (  # noqa: PLC0415
        axis_of,
        points_of,
        require_affordable_points,
        sweep,
    )
    from tasksim.report import results, sweep_results  # noqa: PLC0415
    from tasksim.scenario.loading import scenario_digest  # noqa: PLC0415

    axes = [axis_of(text) for text in args.over]
    points = points_of(args.scenario, axes, args.set)
    require_affordable_points(points, args.replications, force=args.force)
    if args.cluster is not None:
        require_cluster(args.cluster)
    results.require_writable(args.out)
    with counting("sweeping", len(points)) as progress:
        done = sweep(
            axes,
            points,
            replications=args.replications,
            folder=args.out,
            jobs=args.jobs or -1,
            cluster=args.cluster,
            progress=progress,
        )
    print(sweep_results.sweep_text(done))
    sys.stdout.flush()
    if done.interrupted:
        kept = sum(values is not None for values in done.values)
        print(
            f"interrupted: {kept} of {len(points)} points are kept in {args.out}; the same command "
            "goes on from there",
            file=sys.stderr,
        )
        return 130
    origin = {
        "scenario": args.scenario,
        "scenario_digests": [scenario_digest(point.scenario) for point in points],
        "over": args.over,
        "set": args.set,
        "replications": args.replications,
        "engine": points[0].scenario.engine,
        "versions": versions(),
    }
    for path in sweep_results.write(args.out, done, origin):
        print(f"wrote {path}", file=sys.stderr)
    return 0
