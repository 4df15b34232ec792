"""Reads a Parquet export with DuckDB and Polars and compares it with what the store holds.

read_export.py PARQUET_DIR JSONL_DIR SCHEMA.json STORE.json: prints a summary, ends with an error at the first difference.
"""

import base64
import datetime
import json
import pathlib
import sys

import duckdb
import polars as pl

parquet, jsonl = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
schema = {dataset["name"]: dataset["columns"] for dataset in json.load(open(sys.argv[3]))}
store = json.load(open(sys.argv[4]))
db = duckdb.connect()

DUCKDB_TYPES = {
    "bool": {"BOOLEAN"},
    "u_int32": {"UINTEGER"},
    "u_int64": {"UBIGINT"},
    "float64": {"DOUBLE"},
    "text": {"VARCHAR"},
    "label": {"VARCHAR"},
    "timestamp": {"TIMESTAMP WITH TIME ZONE"},
    "text_list": {"VARCHAR[]"},
    "bytes": {"BLOB"},
}
POLARS_TYPES = {
    "bool": (pl.Boolean,),
    "u_int32": (pl.UInt32,),
    "u_int64": (pl.UInt64,),
    "float64": (pl.Float64,),
    "text": (pl.String,),
    "label": (pl.String, pl.Categorical, pl.Enum),
    "timestamp": (pl.Datetime,),
    "text_list": (pl.List,),
    "bytes": (pl.Binary,),
}


def check(condition, *what):
    if not condition:
        sys.exit("FAILED: " + " ".join(str(part) for part in what))


def plain(kind, value):
    """A value as the JSON Lines have it."""
    if value is None:
        return None
    if kind == "timestamp":
        return round(value.timestamp() * 1000)
    if kind == "bytes":
        return base64.b64encode(bytes(value)).decode()
    return list(value) if kind == "text_list" else value


def as_json(kind, value):
    """The same of a line of JSON."""
    if kind == "timestamp" and value is not None:
        return round(datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000)
    return value


def rows(relation):
    names = [column[0] for column in relation.description]
    return [dict(zip(names, row)) for row in relation.fetchall()]


counts = {}
for name, columns in schema.items():
    path = parquet / f"{name}.parquet"
    check(path.is_file(), path, "is missing")
    relation = f"read_parquet('{path}')"
    described = {row["column_name"]: row["column_type"] for row in rows(db.execute(f"DESCRIBE SELECT * FROM {relation}"))}
    check(list(described) == [column["name"] for column in columns], name, "columns in DuckDB:", list(described))
    frame = pl.read_parquet(path)
    check(frame.columns == list(described), name, "columns in Polars:", frame.columns)
    lines = [json.loads(line) for line in (jsonl / f"{name}.jsonl").read_text().splitlines()]
    found = rows(db.execute(f"SELECT * FROM {relation}"))
    counts[name] = len(found)
    check(len(found) == len(lines) == frame.height, name, "rows:", len(found), len(lines), frame.height)
    lazy = pl.scan_parquet(path).select(pl.len()).collect().item()
    check(lazy == len(lines), name, "rows of a lazy scan:", lazy)
    for column in columns:
        field, kind = column["name"], column["type"]
        check(described[field] in DUCKDB_TYPES[kind], name, field, kind, "is", described[field], "in DuckDB")
        check(isinstance(frame.schema[field], POLARS_TYPES[kind]), name, field, kind, "is", frame.schema[field], "in Polars")
        nulls = db.execute(f'SELECT count(*) FROM {relation} WHERE "{field}" IS NULL').fetchone()[0]
        check(nulls == frame[field].null_count(), name, field, "nulls:", nulls, frame[field].null_count())
        check(column["nullable"] or nulls == 0, name, field, "has", nulls, "nulls and promises none")
        expected = [as_json(kind, line[field]) for line in lines]
        in_duckdb = [plain(kind, row[field]) for row in found]
        check(in_duckdb == expected, name, field, "differs in DuckDB")
        in_polars = [plain(kind, value) for value in frame[field].to_list()]
        check(in_polars == expected, name, field, "differs in Polars")

for name in ["runs", "predictions", "traces", "calls", "usage"]:
    check(counts[name] > 0, name, "is empty: nothing was compared")
    db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{parquet}/{name}.parquet')")

# What the store holds.
for name in ["predictions", "traces", "calls"]:
    check(counts[name] == store["counts"][name], name, counts[name], "of", store["counts"][name], "rows of the store")
held = {(row["run_id"], row["question_id"]): row for row in store["predictions"]}
for row in rows(db.execute("SELECT * FROM predictions")):
    expected = held.pop((row["run_id"], row["question_id"]), None)
    check(expected is not None, "a prediction that the store does not hold:", row["run_id"], row["question_id"])
    for field, value in expected.items():
        check(row[field] == value, row["question_id"], field, "is", row[field], "and in the store", value)
check(not held, "predictions of the store are missing:", list(held)[:3])

# Joins: every trace and every call belongs to a prediction, and the sums are those of its row.
joined = rows(
    db.execute(
        """
        SELECT p.run_id, p.question_id, p.calls AS stated, p.prompt_tokens AS tokens, p.cached_calls AS stated_cached,
               (SELECT count(*) FROM traces t
                 WHERE t.run_id = p.run_id AND t.phase_run_id = p.phase_run_id AND t.question_id = p.question_id) AS turns,
               count(c.call) FILTER (WHERE c.error_kind IS NULL) AS calls,
               coalesce(sum(c.prompt_tokens) FILTER (WHERE c.error_kind IS NULL), 0) AS call_tokens,
               count(*) FILTER (WHERE c.cached) AS cached
        FROM predictions p
        LEFT JOIN calls c ON c.run_id = p.run_id AND c."group" = p.phase AND c.item = p.question_id
        GROUP BY ALL ORDER BY ALL
        """
    )
)
check(len(joined) == counts["predictions"], "the join has", len(joined), "rows")
for row in joined:
    check(row["turns"] > 0, row["question_id"], "has no turn")
    check(row["calls"] == row["stated"], row["question_id"], "has", row["calls"], "calls and states", row["stated"])
    check(row["cached"] == row["stated_cached"], row["question_id"], "cached", row["cached"], row["stated_cached"])
    check(row["call_tokens"] == row["tokens"], row["question_id"], "tokens", row["call_tokens"], row["tokens"])
orphans = db.execute("SELECT count(*) FROM traces ANTI JOIN predictions USING (run_id, phase_run_id, question_id)").fetchone()
check(orphans[0] == 0, orphans[0], "turns without a prediction")
frames = {name: pl.scan_parquet(parquet / f"{name}.parquet") for name in ["predictions", "traces", "runs"]}
per_run = (
    frames["predictions"]
    .join(frames["traces"], on=["run_id", "phase_run_id", "question_id"], how="inner")
    .join(frames["runs"], on="run_id", how="inner")
    .select(pl.len())
    .collect()
    .item()
)
check(per_run == counts["traces"], "the join in Polars has", per_run, "rows of", counts["traces"])
accuracy = db.execute("SELECT run_id, avg(correct::INT) FROM predictions GROUP BY 1 ORDER BY 1").fetchall()
in_polars = (
    pl.read_parquet(parquet / "predictions.parquet")
    .with_columns(pl.col("run_id").cast(pl.String))
    .group_by("run_id")
    .agg(pl.col("correct").cast(pl.Float64).mean())
    .sort("run_id")
    .rows()
)
check([tuple(row) for row in accuracy] == in_polars, "accuracies:", accuracy, in_polars)
print(f"DuckDB {duckdb.__version__} and Polars {pl.__version__}:", ", ".join(f"{n} {name}" for name, n in counts.items() if n))
