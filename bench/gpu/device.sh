#!/bin/bash
# One command for a machine with a Hopper GPU: bench/gpu/device.sh OUT [--second] [...], see device.py.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/device.py" "$@"
