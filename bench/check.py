"""`loopc check`: a fresh process over a short spec, cost against length, many files."""
import os
import pathlib
import tempfile

from bench import specs
from bench.measure import Case, fitted_exponent, run_interleaved

TARGETS = ["loopc"]
TITLE = "Checking"
SIZES = [100, 1_000, 10_000, 100_000]
SHAPES = {"many loops": specs.many_loops, "one loop of many groups": specs.one_loop}
FILES = 64


def rounds_for(lines, quick):
    return 3 if quick else {100: 25, 1_000: 25, 10_000: 9}.get(lines, 5)


def measure(loopc_dir, quick):
    """Returns the tables of this benchmark: a title, the column names, rows. `quick`: few rounds, short files."""
    sizes = SIZES[:3] if quick else SIZES
    loopc = str(loopc_dir / "loopc")
    with tempfile.TemporaryDirectory(prefix="loop-bench-") as folder:
        folder = pathlib.Path(folder)
        (folder / "shared.loop").write_text(specs.SHARED)

        empty = Case("an empty process", ["/bin/true"], rounds=5 if quick else 25)
        start = Case("loopc --version", [loopc, "--version"], rounds=5 if quick else 25)
        scaling = {}
        for shape, write in SHAPES.items():
            for lines in sizes:
                path = folder / f"{shape.replace(' ', '_')}_{lines}.loop"
                path.write_text(write(lines))
                written = path.read_text().count("\n")
                case = Case(f"{shape}, {written:,} lines", [loopc, "check", str(path)], rounds=rounds_for(lines, quick))
                scaling[shape, lines] = (written, path.stat().st_size, case)

        many = []
        for number in range(FILES):
            path = folder / f"file_{number}.loop"
            path.write_text(specs.many_loops(1_000))
            many.append(str(path))
        one_call = Case(f"{FILES} files in one call", [loopc, "check", *many], rounds=3 if quick else 7)
        singly = Case("one of them", [loopc, "check", many[0]], rounds=5 if quick else 25)

        run_interleaved([empty, start, *(entry[2] for entry in scaling.values()), one_call, singly])
    return [
        process_table(empty, start, scaling["many loops", 100][2]),
        *(scaling_table(shape, start, [scaling[shape, lines] for lines in sizes]) for shape in SHAPES),
        files_table(start, singly, one_call),
    ]


def process_table(empty, start, short):
    def row(case):
        low, high = case.spread_ms()
        return [case.name, f"{case.wall_ms():.1f}", f"{low:.1f} – {high:.1f}", f"{case.cpu_ms():.1f}"]

    share = start.wall_ms() / short.wall_ms()
    return {
        "title": "A fresh process over 100 lines",
        "columns": ["what", "median ms", "middle half", "CPU ms"],
        "rows": [row(empty), row(start), row(short)],
        "remark": f"Start-up is {share:.0%} of the check.",
        "values": {"check_100_lines_ms": short.wall_ms(), "start_ms": start.wall_ms(), "start_share": share},
    }


def scaling_table(shape, start, entries):
    rows, sizes, above_start = [], [], []
    for lines, size, case in entries:
        work = max(case.cpu_ms() - start.cpu_ms(), 0.01)
        sizes.append(lines)
        above_start.append(work)
        low, high = case.spread_ms()
        rows.append(
            [f"{lines:,}", f"{size / 1024:,.0f}", f"{case.wall_ms():,.1f}", f"{low:,.1f} – {high:,.1f}", f"{case.cpu_ms():,.1f}", f"{work / lines * 1e3:.2f}"]
        )
    whole, long = fitted_exponent(sizes, above_start), fitted_exponent(sizes[1:], above_start[1:])
    return {
        "title": f"Cost against length: {shape}",
        "columns": ["lines", "KiB", "median ms", "middle half", "CPU ms", "CPU ms per 1,000 lines above start-up"],
        "rows": rows,
        "remark": f"CPU time above start-up grows as lines^{whole:.2f}; from 1,000 lines on as lines^{long:.2f}.",
        "values": {"exponent": whole, "exponent_from_1000": long},
    }


def files_table(start, singly, one_call):
    in_turn = FILES * singly.wall_ms()
    low, high = one_call.spread_ms()
    return {
        "title": f"{FILES} files of 1,000 lines, {os.cpu_count()} processors",
        "columns": ["how", "median ms", "middle half", "CPU ms"],
        "rows": [
            ["one process each, in turn (computed from one)", f"{in_turn:,.0f}", "", f"{FILES * singly.cpu_ms():,.0f}"],
            ["one call", f"{one_call.wall_ms():,.0f}", f"{low:,.0f} – {high:,.0f}", f"{one_call.cpu_ms():,.0f}"],
        ],
        "remark": f"One call takes {one_call.wall_ms() / in_turn:.0%} of the time, "
        f"with {one_call.cpu_ms() / one_call.wall_ms():.1f} processors busy.",
        "values": {"files_ms": one_call.wall_ms(), "processors_busy": one_call.cpu_ms() / one_call.wall_ms()},
    }
