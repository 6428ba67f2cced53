"""Runs every recipe of docs/recipes.md with duckdb and pandas on a dataset of two runs.

Usage: check_recipes.py TENSORTRACE WORKDIR

Each must have rows, and none of its columns may be empty; what some of them find is compared with
what `tensortrace stats`, `routing` and `report` say of the same traces. Exits with 1 and a list otherwise.
"""

import io
import math
import sys
from contextlib import redirect_stdout
from pathlib import Path

import duckdb

import recipes

sys.path.insert(0, str(recipes.SOURCE / "tests" / "engine"))

import traces  # noqa: E402

complain = traces.Problems("recipes")


def check_sql(duck, title, sql):
    table = duck.sql(sql).to_arrow_table()
    if not table.num_rows:
        complain(f"{title}: no rows")
    for name in table.column_names:
        if table.column(name).null_count == table.num_rows and name not in NOT_MADE_UP:
            complain(f"{title}: {name} is null in every row")


# What a made-up trace has not.
NOT_MADE_UP = ()
IDS = {}  # of the traces' names


def close(what, want, got, unit):
    """Equal but for the rounding of each value to whole ns."""
    if not math.isclose(want, got, rel_tol=1e-9, abs_tol=unit):
        complain(f"{what}: expected {want}, got {got}")


def check_stats(tool, work, duck):
    """Sums by op as `stats` has them."""
    for name, run_id in IDS.items():
        stats = {r["op"]: r for r in traces.tool(tool, "stats", "--json", "--limit", "0", work / f"{name}.ttrace")["rows"]}
        rows = duck.execute("SELECT op, count(*), sum(duration_ns), sum(busy_ns), sum(wait_ns), sum(weight_bytes) FROM ops "
                            "WHERE run_id = ? GROUP BY op", [run_id]).fetchall()
        complain.expect(f"{name}: ops", sorted(stats), sorted(r[0] for r in rows))
        for op, n, duration, busy, wait, weight in rows:
            want = stats.get(op, {})
            complain.expect(f"{name} {op}: count", want.get("count"), n)
            complain.expect(f"{name} {op}: weight_bytes", want.get("weight_bytes"), int(weight))
            for key, got in {"total_ns": duration, "busy_ns": busy, "wait_ns": wait}.items():
                close(f"{name} {op}: {key}", want.get(key, -1), float(got), 4.0 * n)
        lanes = duck.execute("SELECT sum(busy_ns), sum(wait_ns) FROM lanes WHERE run_id = ?", [run_id]).fetchall()[0]
        close(f"{name}: busy_ns of lanes", sum(r["busy_ns"] for r in stats.values()), float(lanes[0]), 1e5)
        close(f"{name}: wait_ns of lanes", sum(r["wait_ns"] for r in stats.values()), float(lanes[1]), 1e5)


def recipe(duck, title):
    [sql] = [text for name, _, text in recipes.read() if name == title]
    table = duck.sql(sql).to_arrow_table().to_pylist()
    return {name: [r for r in table if r["run_id"] == run_id] for name, run_id in IDS.items()}


def check_experts(tool, work, duck):
    """Tokens that keep experts, as `routing` has them."""
    for name, rows in recipe(duck, "Would the last token's experts have been the right ones?").items():
        layers = traces.tool(tool, "routing", "--json", "--phase", "generate", work / f"{name}.ttrace")["layers"]
        complain.expect(f"{name}: layers with experts", [r["layer_id"] for r in layers], [r["layer_id"] for r in rows])
        for want, got in zip(layers, rows):
            close(f"{name}: layer {want['layer_id']} keeps experts", want["stickiness"], got["hit_share"], 1e-9)


def check_order(tool, work, duck):
    """Steps in the file, as `report` has them."""
    for name, rows in recipe(duck, "Is access to the file sequential?").items():
        steps = traces.tool(tool, "report", "--json", "--no-measure", work / f"{name}.ttrace")["reads"]["steps"]
        complain.expect(f"{name}: files", 1, len(rows))
        complain.expect(f"{name}: steps", steps["count"], rows[0]["n_steps"])
        for key, share in {"adjacent": "next_share", "forward": "forward_share", "backward": "back_share"}.items():
            count = steps[key] if key == "adjacent" else steps[key]["count"]
            complain.expect(f"{name}: {key} steps", count, round(rows[0][share] * rows[0]["n_steps"]))


def main():
    tool, work = (Path(p).resolve() for p in sys.argv[1:3])
    recipes.dataset(tool, work)
    duck, n = duckdb.connect(), 0
    recipes.tables(duck)
    for title, language, text in recipes.read():
        if language == "sql" and title != "The tables":
            check_sql(duck, title, text)
            n += 1
        elif language == "python" and "pyspark" not in text:
            scope = {}
            with redirect_stdout(io.StringIO()):
                exec(text, scope)  # noqa: S102
            if not len(scope["result"]):
                complain(f"{title}: no rows")
            n += 1
    IDS.update({name: traces.info_of(tool, work / f"{name}.ttrace")["run_id"] for name in recipes.RUNS})
    check_stats(tool, work, duck)
    check_experts(tool, work, duck)
    check_order(tool, work, duck)
    complain.finish(f"{n} recipes run")


if __name__ == "__main__":
    main()
