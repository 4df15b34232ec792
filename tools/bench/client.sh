#!/usr/bin/env bash
# client.sh [CALLS [CONCURRENCY]]: model access of trm and Python's openai client, one after the other, on one server.
# The Python client gets a twentieth of the calls. VENV names a virtual environment (made when absent).
set -euo pipefail
cd "$(dirname "$0")/../.."
calls=${1:-200000} concurrency=${2:-256}
venv=${VENV:-${TMPDIR:-/tmp}/trm-bench-venv}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q openai
fi
cargo bench -q --bench client --no-run
server_out=$(mktemp)
cargo bench -q --bench client -- --serve >"$server_out" &
server=$!
trap 'kill "$(pgrep -P "$server" || echo "$server")" 2>/dev/null; rm -f "$server_out"' EXIT
until [ -s "$server_out" ]; do sleep 0.1; done
address=$(head -n1 "$server_out")
cargo bench -q --bench client -- --address "$address" --calls "$calls" --concurrency "$concurrency"
"$venv/bin/python" tools/bench/openai_client.py "$address" $((calls / 20)) "$concurrency"
