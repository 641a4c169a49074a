#!/usr/bin/env bash
# Tests the package for GPUs and takes its times, on a machine with a card: benches/gpu.sh [ENTRIES [RESULTS]]
#
# Prints a table of each row, the least time that its bytes take, and the time of the device, beside torch and cupy where
# `python3` has them. RESULTS gets the lines as JSON. LACUNA_BANDWIDTH is the bandwidth of the card in bytes per second.
set -euo pipefail
cd "$(dirname "$0")/.."
entries="${1:-100000000}"
results="$(realpath -m "${2:-target/gpu.jsonl}")"
mkdir -p "$(dirname "$results")"
export LACUNA_GPU_TESTS=require
(
  cd src/engines/gpu
  cargo test --release --locked --test device
  cargo run --release --locked --example table -- "$entries" 5 | tee "$results"
)
python3 -B benches/gpu.py "$results" "${LACUNA_BANDWIDTH:-4.3e12}"
